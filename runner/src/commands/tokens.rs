//! `foreglow tokens`: creates, lists and revokes the tokens of a collector.

use foreglow_console::grammar::{count, duration_secs};
use foreglow_console::output::{self, Format};
use foreglow_console::progress::note;
use foreglow_console::table::{aligned, table};
use foreglow_exit::unusable;
use foreglow_shared::Timestamp;
use foreglow_store::token::{Hash, random};
use foreglow_store::{DEFAULT_PER_MINUTE, Location, Roles, Store, Token, user};
use jiff::SignedDuration;
use serde_json::json;

/// Make, list or revoke the tokens of a collector. A running collector follows at once
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Make a token for a user or machine, and print it once
    Create(CreateArgs),
    /// List the tokens, without their secrets
    List(ListArgs),
    /// Revoke a token
    Revoke(RevokeArgs),
}

#[derive(Debug, clap::Args)]
struct CreateArgs {
    /// Name of the user or machine, for the list and the logs
    #[arg(value_name = "NAME")]
    name: String,

    /// What the token may do: write (send samples), read (samples and planner), admin (everything),
    /// or several such as read,write
    #[arg(long, value_name = "ROLES")]
    role: Roles,

    /// Time after which the token ends: 90d [default: never]
    #[arg(long, value_name = "TIME", value_parser = duration_secs, allow_negative_numbers = true)]
    expires: Option<f64>,

    /// Limit on requests per minute
    #[arg(long, value_name = "N", default_value_t = DEFAULT_PER_MINUTE, value_parser = count, allow_negative_numbers = true)]
    limit: u32,

    #[command(flatten)]
    place: StoreArgs,
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    #[command(flatten)]
    place: StoreArgs,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, clap::Args)]
struct RevokeArgs {
    /// Name of the token
    #[arg(value_name = "NAME")]
    name: String,

    #[command(flatten)]
    place: StoreArgs,
}

#[derive(Debug, clap::Args)]
struct StoreArgs {
    /// Store of the collector [default: the user's store]
    #[arg(long, value_name = "FILE|URL")]
    store: Option<Location>,
}

impl StoreArgs {
    /// Opens an existing store; only `tokens create` creates one.
    fn existing(&self) -> anyhow::Result<Store> {
        let advice = "make a token with `foreglow tokens create`, or name the collector's store with --store";
        Store::open_existing_or(self.store.as_ref(), advice)
    }
}

/// Runs the subcommand.
pub fn run(args: &Args) -> anyhow::Result<()> {
    match &args.command {
        Command::Create(args) => create(args),
        Command::List(args) => {
            let tokens = args.place.existing()?.tokens()?;
            output::print(&list(&tokens, args.format, Timestamp::now()))
        }
        Command::Revoke(args) => revoke(args),
    }
}

fn create(args: &CreateArgs) -> anyhow::Result<()> {
    let now = Timestamp::now();
    let end = |secs: f64| {
        let end = SignedDuration::try_from_secs_f64(secs).ok().and_then(|time| now.checked_add(time).ok());
        end.ok_or_else(|| unusable("that is later than any date; write a time such as 90d"))
    };
    let token = Token {
        name: args.name.clone(),
        roles: args.role,
        per_minute: args.limit,
        created_at: now,
        expires_at: args.expires.map(end).transpose()?,
        last_used_at: None,
    };
    let mut store = Store::open(args.place.store.as_ref())?;
    let secret = random()?;
    store.add_token(&token, Hash::of(&secret), &user())?;
    output::print(&format!("{secret}\n"))?;
    note(&format!(
        "the token {} ({}) is shown only now; {} has its hash. Keep it in a file that only its user may read",
        token.name,
        token.roles,
        store.location()
    ));
    Ok(())
}

fn revoke(args: &RevokeArgs) -> anyhow::Result<()> {
    let mut store = args.place.existing()?;
    if !store.revoke_token(&args.name, &user())? {
        return Err(unusable(format!("there is no token {}; `foreglow tokens list` shows them", args.name)));
    }
    note(&format!("revoked the token {}", args.name));
    Ok(())
}

fn list(tokens: &[Token], format: Format, now: Timestamp) -> String {
    let time = |time: Option<Timestamp>| time.map(|time| format!("{time:.0}"));
    let state = |token: &Token| if token.is_expired(now) { "expired" } else { "valid" };
    let row = |token: &Token| {
        json!({
            "name": token.name,
            "roles": token.roles.to_string(),
            "requests_per_minute": token.per_minute,
            "created_at": time(Some(token.created_at)),
            "expires_at": time(token.expires_at),
            "last_used_at": time(token.last_used_at),
            "state": state(token),
        })
    };
    let rows: Vec<_> = tokens.iter().map(row).collect();
    let columns = "name,roles,requests_per_minute,created_at,expires_at,last_used_at,state";
    format.list("tokens", &rows, columns, || {
        if tokens.is_empty() {
            return "no tokens; make one with `foreglow tokens create`\n".to_owned();
        }
        let or_never = |at: Option<Timestamp>| time(at).unwrap_or_else(|| "never".to_owned());
        let cells = |token: &Token| {
            vec![
                token.name.clone(),
                token.roles.to_string(),
                token.per_minute.to_string(),
                or_never(Some(token.created_at)),
                or_never(token.expires_at),
                or_never(token.last_used_at),
                state(token).to_owned(),
            ]
        };
        let columns = aligned(["<name", "<roles", "requests/min", "<made", "<expires", "<last used", "<"]);
        table(&columns, tokens.iter().map(cells))
    })
}
