//! The built binary on a terminal of its own.

use super::Foreglow;

/// Runs a command on a new terminal of this width, and prints what the terminal gets.
const ON_TERMINAL: &str = "
import fcntl, os, pty, struct, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 50, int(sys.argv[1]), 0, 0))
    os.execvp(sys.argv[2], sys.argv[2:])
while True:
    try:
        part = os.read(terminal, 4096)
    except OSError:
        break
    if not part:
        break
    os.write(1, part)
os.waitpid(pid, 0)
";

impl Foreglow {
    /// Returns what a command writes on a terminal of this width.
    pub fn on_terminal(&self, width: u16, arguments: &[&str]) -> String {
        let mut command = std::process::Command::new("python3");
        self.prepare(&mut command);
        command.args(["-c", ON_TERMINAL, &width.to_string(), env!("CARGO_BIN_EXE_foreglow")]).args(arguments);
        String::from_utf8(command.output().unwrap().stdout).unwrap().replace("\r\n", "\n")
    }
}
