//! `foreglow watch`: follows a job while it runs.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use foreglow_collector::FollowedJob;
use foreglow_collector::address::url;
use foreglow_collector::upload::Follower;
use foreglow_console::answer::{JobEnd, JobState, RestartPlan, WatchAnswer, WatchQuestion};
use foreglow_console::grammar::{duration_secs, money, number};
use foreglow_console::output;
use foreglow_console::progress::note;
use foreglow_engine::follow::{FollowedCommand, FollowedProgress, GrowingFile, Observed, RunningProcess};
use foreglow_exit::{Interrupt, Interrupted, read_whole, unreadable, unusable};
use foreglow_shared::{Timestamp, Uuid};

/// Time between two looks at a log or a process.
const LOOK: Duration = Duration::from_millis(500);
/// Time that a command has to end after it was asked to.
const GRACE: Duration = Duration::from_secs(10);
/// Variable with the state for the command of `--notify`.
const STATE: &str = "FOREGLOW_STATE";

/// Follow a job while it runs, by its log, a process or a command: work done, time left with its
/// interval, cost, and the probability of the deadline
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Log of the job, which may be rotated or truncated
    #[arg(value_name = "LOG", conflicts_with_all = ["pid", "command"])]
    log: Option<PathBuf>,

    /// Process whose output goes to a file
    #[arg(long, value_name = "PID", conflicts_with = "command")]
    pid: Option<u32>,

    /// Command to start and follow; its output stays its own, and the lines of `watch` go to the
    /// standard error
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,

    /// Work of the whole job, in the unit of its progress [default: what the progress says]
    #[arg(long, value_name = "N", value_parser = number, allow_negative_numbers = true)]
    of: Option<f64>,

    /// Epochs of the whole job, if its progress counts the steps of one
    #[arg(long, value_name = "N")]
    epochs: Option<u32>,

    /// Regular expression for the lines with the job's progress, as for `collect`
    #[arg(long, value_name = "REGEX")]
    progress: Option<String>,

    /// Deadline, counted from the start of the job: 90s, 5m, 1h30m
    #[arg(long, value_name = "TIME", value_parser = duration_secs, allow_negative_numbers = true)]
    deadline: Option<f64>,

    /// Price of an hour of the machines
    #[arg(long, value_name = "MONEY", value_parser = money, allow_negative_numbers = true)]
    hourly_price: Option<f64>,

    /// Currency of the price
    #[arg(long, value_name = "CODE", default_value = "USD", requires = "hourly_price")]
    currency: String,

    /// Plan of the job, as `foreglow plan --format json` wrote it: the lines then say which other
    /// configuration is worth a restart
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,

    /// Work between two checkpoints, in the unit of the progress [default: a restart begins anew]
    #[arg(long, value_name = "N", requires = "plan", value_parser = number, allow_negative_numbers = true)]
    checkpoint_every: Option<f64>,

    /// Shell command that runs once when the deadline becomes unlikely; the state is in the
    /// environment variable FOREGLOW_STATE
    #[arg(long, value_name = "COMMAND", requires = "deadline")]
    notify: Option<String>,

    /// Time between two lines
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration_secs, allow_negative_numbers = true)]
    every: f64,

    /// Collector that shows the state on its page while the job runs, such as 127.0.0.1:8787
    #[arg(long, value_name = "URL", value_parser = url)]
    upload: Option<String>,

    /// Name of the job on the page of the collector [default: the log, process or program, and this
    /// machine]
    #[arg(long, value_name = "NAME", requires = "upload")]
    name: Option<String>,

    /// Print the state once and end
    #[arg(long, conflicts_with = "command")]
    once: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: LineFormat,
}

/// Format of the lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum LineFormat {
    /// Text.
    #[default]
    Text,
    /// A JSON object a line.
    Json,
}

/// What is followed.
enum Source {
    Log(GrowingFile),
    Process(RunningProcess, Vec<GrowingFile>),
    Command(FollowedCommand),
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let progress =
        FollowedProgress::new(args.progress.as_deref()).map_err(|error| unusable(format!("--progress: {error}")))?;
    let mut source = args.source()?;
    let mut watched = Watched {
        question: args.question()?,
        args,
        id: Uuid::now_v7(),
        follower: args.upload.as_deref().map(Follower::start).transpose()?,
        streams: vec![progress; source.streams()],
        started: Instant::now(),
        age: source.age(),
        is_notified: false,
        is_within_line: false,
    };
    let interrupt = Interrupt::on_signals();
    let answer = watched.follow(&mut source, &interrupt)?;
    if let Some(follower) = watched.follower.take() {
        follower.finish();
    }
    if let Source::Command(command) = &mut source {
        return end(command, &interrupt);
    }
    match answer.state {
        JobState::Starting | JobState::Running if interrupt.is_raised() => Err(Interrupted::default().into()),
        JobState::Ended => anyhow::bail!("the job ended before its work was done"),
        _ => Ok(()),
    }
}

impl Args {
    fn source(&self) -> anyhow::Result<Source> {
        let open = |path: &Path| GrowingFile::open(path).map_err(|error| unreadable(path, &error));
        if let Some(log) = &self.log {
            return Ok(Source::Log(open(log)?));
        }
        if let Some(pid) = self.pid {
            let process = RunningProcess::find(pid)
                .ok_or_else(|| unusable(format!("there is no running process {pid}; `ps` lists them")))?;
            let files = process.output_files();
            if files.is_empty() {
                return Err(unusable(format!(
                    "the output of process {pid} does not go to a file; start it with `foreglow watch -- COMMAND`, or \
                     give its log"
                )));
            }
            let files: anyhow::Result<Vec<GrowingFile>> = files.iter().map(|path| open(path)).collect();
            return Ok(Source::Process(process, files?));
        }
        if self.command.is_empty() {
            return Err(unusable("give a log, --pid PID, or -- COMMAND"));
        }
        let command = FollowedCommand::start(&self.command)
            .map_err(|error| unusable(format!("{} cannot be started: {error}", self.command[0])))?;
        Ok(Source::Command(command))
    }

    fn question(&self) -> anyhow::Result<WatchQuestion> {
        let plan = match &self.plan {
            Some(path) => {
                let text = read_whole(path).map_err(|error| unreadable(path, &error))?;
                Some(RestartPlan::read(&text).map_err(|error| unusable(format!("{}: {error}", path.display())))?)
            }
            None => None,
        };
        let currency = plan.as_ref().map(RestartPlan::currency).filter(|_| self.hourly_price.is_some());
        if let Some(currency) = currency.filter(|currency| *currency != self.currency) {
            return Err(unusable(format!(
                "the costs of the plan are in {currency}, and --hourly-price is in {}; give the price in {currency}, with \
                 --currency {currency}",
                self.currency
            )));
        }
        if self.checkpoint_every.is_some_and(|every| every <= 0.0) {
            return Err(unusable("--checkpoint-every is the work between two checkpoints; write a number above 0"));
        }
        Ok(WatchQuestion {
            of: self.of,
            epochs: self.epochs,
            deadline_secs: self.deadline,
            hourly_price: self.hourly_price,
            plan,
            checkpoint_every: self.checkpoint_every,
        })
    }

    /// Returns the name of the job without `--name`. Of a command it has the program and a script,
    /// because options may hold what only the user may know.
    fn default_name(&self) -> String {
        let file = |path: &Path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let what = match (&self.log, self.pid) {
            (Some(log), _) => file(log),
            (None, Some(pid)) => format!("process {pid}"),
            (None, None) => {
                let script = self.command.iter().take(2).filter(|word| !word.starts_with('-'));
                script.map(|word| file(Path::new(word))).collect::<Vec<String>>().join(" ")
            }
        };
        match std::fs::read_to_string("/proc/sys/kernel/hostname") {
            Ok(host) => format!("{what} on {}", host.trim()),
            Err(_) => what,
        }
    }
}

impl Source {
    fn streams(&self) -> usize {
        match self {
            Self::Log(_) => 1,
            Self::Process(_, files) => files.len(),
            Self::Command(_) => 2,
        }
    }

    /// Returns the time since the start of the job, where the system knows it.
    fn age(&self) -> Option<Duration> {
        match self {
            Self::Log(_) => None,
            Self::Process(process, _) => process.age(),
            Self::Command(_) => Some(Duration::ZERO),
        }
    }

    /// Returns the time since the job wrote something.
    fn idle(&self) -> Duration {
        match self {
            Self::Log(file) => file.idle(),
            Self::Process(_, files) => files.iter().map(GrowingFile::idle).min().unwrap_or_default(),
            Self::Command(_) => Duration::ZERO,
        }
    }

    /// Reads what arrives within a time. Returns how the job ended, once it has.
    fn read(&mut self, within: Duration, on_bytes: &mut dyn FnMut(usize, &[u8])) -> anyhow::Result<Option<JobEnd>> {
        if let Self::Command(command) = self {
            if command.read(within, on_bytes) {
                return Ok(None);
            }
            let status = command.status().context("the end of the command is unknown")?;
            if status.is_none() {
                std::thread::sleep(within);
            }
            return Ok(status.map(|status| if status.success() { JobEnd::Succeeded } else { JobEnd::Failed }));
        }
        // Read after the end is known: what the process wrote last is then in its files.
        std::thread::sleep(within);
        let has_ended = matches!(self, Self::Process(process, _) if !process.is_running());
        let files = match self {
            Self::Log(file) => std::slice::from_mut(file),
            Self::Process(_, files) => files,
            Self::Command(_) => &mut [],
        };
        for (stream, file) in files.iter_mut().enumerate() {
            file.read(&mut |bytes| on_bytes(stream, bytes)).context("the log cannot be read")?;
        }
        Ok(has_ended.then_some(JobEnd::Unknown))
    }
}

/// A job that is followed.
struct Watched<'a> {
    args: &'a Args,
    question: WatchQuestion,
    /// Identifier of the job on the collector.
    id: Uuid,
    follower: Option<Follower>,
    streams: Vec<FollowedProgress>,
    started: Instant,
    /// Age of the job when it was first followed.
    age: Option<Duration>,
    is_notified: bool,
    /// Whether a command has written a part of a line, such as a bar.
    is_within_line: bool,
}

impl Watched<'_> {
    /// Follows the job to its end, and prints a line from time to time. Returns the last state.
    fn follow(&mut self, source: &mut Source, interrupt: &Interrupt) -> anyhow::Result<WatchAnswer> {
        let idle = source.idle();
        let mut end =
            source.read(Duration::ZERO, &mut |stream, bytes| self.streams[stream].push_history(bytes, idle))?;
        let every = Duration::try_from_secs_f64(self.args.every).unwrap_or(Duration::MAX);
        let mut printed: Option<Instant> = None;
        loop {
            let answer = self.answer(end);
            let is_over =
                self.args.once || end.is_some() || answer.state == JobState::Finished || interrupt.is_raised();
            // A command that has done its work may still save its results.
            let is_over = is_over && !(matches!(source, Source::Command(_)) && end.is_none() && !interrupt.is_raised());
            if is_over || printed.is_none_or(|at| at.elapsed() >= every) {
                printed = Some(Instant::now());
                self.print(&answer, matches!(source, Source::Command(_)))?;
                self.tell(&answer);
                self.notify(&answer);
            }
            if is_over {
                return Ok(answer);
            }
            end = source.read(LOOK, &mut |stream, bytes| {
                self.is_within_line = !bytes.ends_with(b"\n");
                self.streams[stream].push(bytes);
            })?;
        }
    }

    fn answer(&self, end: Option<JobEnd>) -> WatchAnswer {
        let observed = Observed::of_streams(&self.streams);
        let now = Timestamp::now();
        let elapsed = match (self.age, observed.as_ref().and_then(|observed| observed.started_at)) {
            (Some(age), _) => (age + self.started.elapsed()).as_secs_f64(),
            // The log's clock: its time zone does not matter.
            (None, Some(_)) => observed.as_ref().map_or(0.0, Observed::elapsed_secs),
            (None, None) => self.started.elapsed().as_secs_f64(),
        };
        WatchAnswer::new(&self.question, observed.as_ref(), elapsed, end, now)
    }

    fn print(&mut self, answer: &WatchAnswer, is_command: bool) -> anyhow::Result<()> {
        let line = match self.args.format {
            LineFormat::Text => answer.line(&self.args.currency),
            LineFormat::Json => answer.json_line(),
        };
        // The output of a command stays its own.
        if is_command {
            let start = if std::mem::take(&mut self.is_within_line) { "\n" } else { "" };
            note(&format!("{start}foreglow: {line}"));
            return Ok(());
        }
        output::print(&format!("{line}\n"))
    }

    /// Tells the collector of `--upload` the state.
    fn tell(&self, answer: &WatchAnswer) {
        let Some(follower) = &self.follower else { return };
        let name = self.args.name.clone().unwrap_or_else(|| self.args.default_name());
        follower.tell(FollowedJob {
            id: self.id,
            name,
            state: answer.line(&self.args.currency),
            done: answer.share_done(),
            is_over: matches!(answer.state, JobState::Finished | JobState::Ended),
            every_secs: self.args.every.max(LOOK.as_secs_f64()),
        });
    }

    /// Runs the command of `--notify`, once.
    fn notify(&mut self, answer: &WatchAnswer) {
        let Some(command) = self.args.notify.as_ref().filter(|_| !self.is_notified) else { return };
        if !answer.is_late(&self.question) {
            return;
        }
        self.is_notified = true;
        let state = answer.line(&self.args.currency);
        let started = Command::new("sh")
            .args([OsStr::new("-c"), OsStr::new(command)])
            .env(STATE, state)
            .stdin(Stdio::null())
            .spawn();
        match started {
            // Its status is read by a thread, so that it does not stay in the system's table.
            Ok(mut child) => drop(std::thread::spawn(move || child.wait())),
            Err(error) => note(&format!("warning: the command of --notify cannot be started: {error}")),
        }
    }
}

/// Waits for a followed command, and ends as it did.
fn end(command: &mut FollowedCommand, interrupt: &Interrupt) -> anyhow::Result<()> {
    let mut asked: Option<Instant> = None;
    loop {
        if let Some(status) = command.status().context("the end of the command is unknown")? {
            if interrupt.is_raised() {
                return Err(Interrupted::default().into());
            }
            anyhow::ensure!(status.success(), "the command failed: {status}");
            return Ok(());
        }
        match asked {
            None if interrupt.is_raised() => {
                command.stop();
                asked = Some(Instant::now());
            }
            Some(at) if at.elapsed() >= GRACE => {
                anyhow::bail!("the command has not ended after SIGTERM; it still runs")
            }
            _ => {}
        }
        // While nobody reads its output, the command could not go on to its end.
        command.read(Duration::from_millis(20), &mut |_, _| {});
        std::thread::sleep(Duration::from_millis(1));
    }
}
