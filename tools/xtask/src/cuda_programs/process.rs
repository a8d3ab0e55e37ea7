//! Commands that the chore runs: with a limit of time, or until they are done.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Runs a command to its end; the error is the line of its output that says why.
pub(super) fn succeed(mut command: Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let is_reason = |line: &&str| line.contains("error") || line.contains("undefined reference");
    let reason = said.lines().find(is_reason).or_else(|| said.lines().last());
    Err(reason.unwrap_or("no message").to_owned())
}

/// Runs a command, unless it takes too long.
pub(crate) fn within(limit: Duration, mut command: Command) -> Result<Output, String> {
    let spawned = command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null()).spawn();
    let mut child = spawned.map_err(|error| format!("{command:?}: {error}"))?;
    let process = child.id();
    let (done, waits) = std::sync::mpsc::channel::<()>();
    let guard = std::thread::spawn(move || {
        let late = waits.recv_timeout(limit).is_err();
        if late {
            // Asked to end, the command keeps its record and ends the program.
            let _ = Command::new("kill").arg(process.to_string()).status();
        }
        late
    });
    let mut stdout = child.stdout.take();
    let reader = std::thread::spawn(move || read_all(stdout.as_mut()));
    let stderr = read_all(child.stderr.as_mut());
    let status = child.wait().map_err(|error| error.to_string())?;
    let _ = done.send(());
    let late = guard.join().unwrap_or(false);
    let stdout = reader.join().unwrap_or_default();
    if late { Err(format!("more than {} s", limit.as_secs())) } else { Ok(Output { status, stdout, stderr }) }
}

fn read_all(from: Option<&mut impl std::io::Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        let _ = from.read_to_end(&mut bytes);
    }
    bytes
}

/// The end of a program's output.
pub(crate) fn last_lines(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let last =
        |text: &str| text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().to_owned();
    let reasons = ["counterpoint: ", "error", "PTX line"];
    let is_reason =
        |line: &&str| reasons.iter().any(|word| line.contains(word)) && !line.contains("no time passes");
    let said = err.lines().find(is_reason).map(str::to_owned);
    format!("{}; {}", output.status, said.unwrap_or_else(|| last(&out)))
}
