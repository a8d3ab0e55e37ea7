//! A Slurm of its own: munge, a controller and two nodes, in a folder and at ports that nobody else has.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::write;

pub(super) const NODES: [&str; 2] = ["n1", "n2"];
/// Time in which the nodes must be there.
const READY: Duration = Duration::from_secs(60);

/// The daemons, which end with it.
pub(super) struct Cluster {
    folder: PathBuf,
    munge: Child,
    controller: Child,
    nodes: [SlurmNode; 2],
}

struct SlurmNode {
    name: &'static str,
    /// `slurmd`, or the process that has it as its only child.
    daemon: Child,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Jobs first, so that no step is left without its daemon.
        let _ = self.command("scancel").args(["--me"]).output();
        let begun = Instant::now();
        let jobs =
            |cluster: &Self| cluster.ask("squeue", &["--noheader"]).is_ok_and(|text| !text.trim().is_empty());
        while jobs(self) && begun.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(200));
        }
        for node in &mut self.nodes {
            node.kill(&self.folder);
        }
        for daemon in [&mut self.controller, &mut self.munge] {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

impl SlurmNode {
    /// Ends the node as a power failure does, with all its processes.
    fn kill(&mut self, folder: &Path) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
        // If the node has no PID namespace of its own, its tasks are identified by the environment that Slurm
        // has given them.
        let own = [
            format!("SLURM_CONF={}", configuration(folder).display()),
            format!("SLURMD_NODENAME={}", self.name),
        ];
        for entry in std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok) {
            let Some(process) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
                continue;
            };
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            let words: Vec<&[u8]> = environment.split(|byte| *byte == 0).collect();
            if own.iter().all(|word| words.contains(&word.as_bytes())) {
                let _ = Command::new("kill").args(["-KILL", &process.to_string()]).output();
            }
        }
    }
}

fn configuration(folder: &Path) -> PathBuf {
    folder.join("slurm.conf")
}

/// A program, where Debian has it for root.
fn program(name: &str) -> PathBuf {
    let system = Path::new("/usr/sbin").join(name);
    if system.exists() { system } else { PathBuf::from(name) }
}

/// Checks that all programs are installed.
fn installed() -> Result<(), String> {
    let runs = |name: &&&str| {
        Command::new(program(name))
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_err()
    };
    let missing: Vec<&str> =
        ["munged", "slurmctld", "slurmd", "sbatch", "squeue", "sinfo"].iter().filter(runs).copied().collect();
    match missing[..] {
        [] => Ok(()),
        _ => Err(format!(
            "{} is not installed: `apt-get install --no-install-recommends slurm-wlm munge` brings Slurm",
            missing.join(", ")
        )),
    }
}

fn ports<const N: usize>() -> Result<[u16; N], String> {
    // All listeners stay open until all ports are known, so that no port occurs twice.
    let listeners: Vec<TcpListener> = (0..N)
        .map(|_| TcpListener::bind("127.0.0.1:0"))
        .collect::<Result<_, _>>()
        .map_err(|error| format!("no port is free: {error}"))?;
    let mut ports = [0; N];
    for (port, listener) in ports.iter_mut().zip(&listeners) {
        *port = listener.local_addr().map_err(|error| error.to_string())?.port();
    }
    Ok(ports)
}

fn spawn(command: &mut Command, log: &Path) -> Result<Child, String> {
    let log = std::fs::File::create(log).map_err(|error| format!("{}: {error}", log.display()))?;
    let err = log.try_clone().map_err(|error| error.to_string())?;
    let child = command.stdin(Stdio::null()).stdout(log).stderr(err).spawn();
    child.map_err(|error| format!("{command:?} does not start: {error}"))
}

impl Cluster {
    pub(super) fn start(folder: &Path) -> Result<Self, String> {
        installed()?;
        for name in ["spool", "spool/ctld", "spool/d.n1", "spool/d.n2", "log"] {
            std::fs::create_dir_all(folder.join(name)).map_err(|error| format!("{name}: {error}"))?;
        }
        let host = said("hostname", &[])?;
        let user = said("id", &["--user", "--name"])?;
        write(&configuration(folder), &conf(folder, &host, &user, ports()?))?;
        let munge = start_munge(folder)?;
        let conf = configuration(folder);
        let with_conf = |name: &str| {
            let mut command = Command::new(program(name));
            command.env("SLURM_CONF", &conf).arg("-D").arg("-f").arg(&conf);
            command
        };
        let controller = spawn(&mut with_conf("slurmctld"), &folder.join("log/ctld.out"))?;
        // A node with a PID namespace of its own is another computer to other nodes, and can be ended as a
        // whole.
        let apart = ["--pid", "--fork", "--mount-proc", "--kill-child"];
        let can_part =
            Command::new("unshare").args(apart).arg("true").output().is_ok_and(|out| out.status.success());
        let node = |name: &'static str| {
            let daemon = with_conf("slurmd");
            let mut command = Command::new("unshare");
            command.args(apart).arg(daemon.get_program()).args(daemon.get_args()).env("SLURM_CONF", &conf);
            let mut command = if can_part { command } else { daemon };
            let daemon = spawn(command.args(["-N", name]), &folder.join(format!("log/{name}.out")))?;
            Ok::<_, String>(SlurmNode { name, daemon })
        };
        let nodes = [node(NODES[0])?, node(NODES[1])?];
        let cluster = Cluster { folder: folder.to_owned(), munge, controller, nodes };
        if !can_part {
            crate::report(
                "note: nodes cannot have process numbers of their own here, so the dead one is known by its processes",
            );
        }
        cluster.wait_for_nodes()?;
        Ok(cluster)
    }

    fn wait_for_nodes(&self) -> Result<(), String> {
        let begun = Instant::now();
        loop {
            let states = self.ask("sinfo", &["--noheader", "--Node", "--format=%N %T"]).unwrap_or_default();
            let idle = |name: &&&str| states.lines().any(|line| line.trim() == format!("{name} idle"));
            if NODES.iter().filter(idle).count() == NODES.len() {
                return Ok(());
            }
            if begun.elapsed() > READY {
                let log = |name: &str| {
                    std::fs::read_to_string(self.folder.join("log").join(name)).unwrap_or_default()
                };
                let logs = ["ctld.log", "d.n1.log", "ctld.out", "n1.out"].map(log).join("\n");
                return Err(format!("the nodes do not come: {states}\n{logs}"));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    pub(super) fn command(&self, name: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(name);
        command.env("SLURM_CONF", configuration(&self.folder));
        command
    }

    /// Output of a command of Slurm.
    pub(super) fn ask(&self, name: &str, arguments: &[&str]) -> Result<String, String> {
        crate::speeds::output(self.command(name).args(arguments))
    }

    /// The nodes on which tasks run.
    pub(super) fn busy(&self) -> Vec<String> {
        let text = self.ask("squeue", &["--noheader", "--states=running", "--format=%N"]).unwrap_or_default();
        let mut nodes: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        nodes.sort();
        nodes.dedup();
        nodes
    }

    /// Kills the second node with all that runs on it.
    pub(super) fn kill_one(&mut self) {
        let folder = self.folder.clone();
        self.nodes[1].kill(&folder);
    }
}

/// Output of a command, in a line.
fn said(name: &str, arguments: &[&str]) -> Result<String, String> {
    Ok(crate::speeds::output(Command::new(name).args(arguments))?.trim().to_owned())
}

/// A munge with a key and a socket of its own.
fn start_munge(folder: &Path) -> Result<Child, String> {
    use std::io::Read;
    use std::os::unix::fs::OpenOptionsExt;
    let mut key = [0; 128];
    let drawn = std::fs::File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut key));
    let path = folder.join("munge.key");
    let written = drawn.and_then(|()| {
        let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o400).open(&path);
        std::io::Write::write_all(&mut file?, &key)
    });
    written.map_err(|error| format!("{}: {error}", path.display()))?;
    let mut munge = Command::new(program("munged"));
    munge.args(["--foreground", "--force"]);
    for (option, file) in [
        ("key-file", "munge.key"),
        ("socket", "munge.socket"),
        ("pid-file", "munge.pid"),
        ("seed-file", "munge.seed"),
        ("log-file", "log/munge.log"),
    ] {
        munge.arg(format!("--{option}={}", folder.join(file).display()));
    }
    let child = spawn(&mut munge, &folder.join("log/munge.out"))?;
    let begun = Instant::now();
    while !folder.join("munge.socket").exists() {
        if begun.elapsed() > READY {
            let log = std::fs::read_to_string(folder.join("log/munge.out")).unwrap_or_default();
            return Err(format!("munge does not start: {log}"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(child)
}

/// The configuration: a dead node is missed after ten seconds, and its tasks begin again a few seconds later.
fn conf(folder: &Path, host: &str, user: &str, [controller, first, second]: [u16; 3]) -> String {
    let folder = folder.display();
    let mut text = format!(
        "ClusterName=counterpoint\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser={user}\nSlurmdUser={user}\n\
         AuthType=auth/munge\nCredType=cred/munge\nAuthInfo=socket={folder}/munge.socket,cred_expire=5\n\
         SlurmctldPort={controller}\nSlurmctldPidFile={folder}/ctld.pid\nSlurmdPidFile={folder}/d.%n.pid\n\
         StateSaveLocation={folder}/spool/ctld\nSlurmdSpoolDir={folder}/spool/d.%n\n\
         SlurmctldLogFile={folder}/log/ctld.log\nSlurmdLogFile={folder}/log/d.%n.log\n\
         ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/none\n\
         AccountingStorageType=accounting_storage/none\nMpiDefault=none\nSwitchType=switch/none\n\
         SchedulerType=sched/backfill\nSelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\n\
         SlurmdParameters=config_overrides\nReturnToService=2\nInactiveLimit=0\nKillWait=5\nMinJobAge=300\nSlurmdTimeout=10\n"
    );
    for (name, port) in NODES.iter().zip([first, second]) {
        text.push_str(&format!(
            "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 RealMemory=4000 State=UNKNOWN\n"
        ));
    }
    text + "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
}
