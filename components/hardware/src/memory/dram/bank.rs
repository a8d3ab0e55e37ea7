//! The state of one channel's banks: which row is open, and the first cycle at which each command is allowed.

use super::timing::Timing;

/// A command to a bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Opens a row.
    Activate,
    /// Closes the row.
    Precharge,
    /// Reads a burst from the open row.
    Read,
    /// Writes a burst to the open row.
    Write,
}

/// A bank.
#[derive(Clone, Copy, Debug, Default)]
struct Bank {
    open: Option<u64>,
    activate: u64,
    precharge: u64,
    column: u64,
}

/// The banks of a channel and what they share.
#[derive(Clone, Debug)]
pub struct Banks {
    timing: Timing,
    banks: Vec<Bank>,
    /// First cycle for an activate of any bank.
    activate: u64,
    /// First cycle for a read, for a write, of any bank.
    read: u64,
    write: u64,
}

impl Banks {
    /// All banks closed.
    pub fn new(timing: Timing) -> Self {
        let banks = vec![Bank::default(); timing.banks as usize];
        Banks { timing, banks, activate: 0, read: 0, write: 0 }
    }

    /// The open row of a bank.
    pub fn open_row(&self, bank: usize) -> Option<u64> {
        self.banks[bank].open
    }

    /// The command that brings an access to `row` forward, and the first cycle at which it is allowed.
    #[inline]
    pub fn next(&self, bank: usize, row: u64, write: bool) -> (Command, u64) {
        let state = &self.banks[bank];
        match state.open {
            Some(open) if open == row => {
                let (command, shared) =
                    if write { (Command::Write, self.write) } else { (Command::Read, self.read) };
                (command, state.column.max(shared))
            }
            Some(_) => (Command::Precharge, state.precharge),
            None => (Command::Activate, state.activate.max(self.activate)),
        }
    }

    /// Issues a command. For a column command the result is the cycle after its last data.
    pub fn issue(&mut self, command: Command, bank: usize, row: u64, cycle: u64) -> u64 {
        let t = &self.timing;
        let state = &mut self.banks[bank];
        match command {
            Command::Activate => {
                state.open = Some(row);
                state.column = cycle + t.tRCD;
                state.precharge = cycle + t.tRAS;
                state.activate = cycle + t.tRC;
                self.activate = cycle + t.tRRD;
                cycle
            }
            Command::Precharge => {
                state.open = None;
                state.activate = state.activate.max(cycle + t.tRP);
                cycle
            }
            Command::Read => {
                let end = cycle + t.tCL + t.burst_cycles;
                self.read = cycle + t.tCCD;
                // The bus turns round: write data must not meet read data.
                self.write = self.write.max((end + 1).saturating_sub(t.tWL));
                state.precharge = state.precharge.max(cycle + t.tCCD);
                end
            }
            Command::Write => {
                let end = cycle + t.tWL + t.burst_cycles;
                self.write = cycle + t.tCCD;
                self.read = self.read.max(end + t.tCDLR);
                state.precharge = state.precharge.max(end + t.tWR);
                end
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::timing::{Standard, TimingParams};
    use super::*;
    use counterpoint_framework::time::Bytes;

    fn banks() -> Banks {
        let params = TimingParams {
            standard: Standard::Gddr5,
            banks: None,
            tRP: None,
            tCCD: None,
            tRRD: None,
            tRCD: None,
            tRAS: None,
            tRC: None,
            tCL: None,
            tWL: None,
            tWR: None,
            tCDLR: None,
            row: Bytes::new(2048),
            burst: Bytes::new(64),
            burst_cycles: 2,
        };
        Banks::new(Timing::new(&params).unwrap())
    }

    #[test]
    fn each_command_is_blocked_one_cycle_earlier() {
        let mut banks = banks();
        assert_eq!(banks.next(0, 5, false), (Command::Activate, 0));
        banks.issue(Command::Activate, 0, 5, 0);
        assert_eq!(banks.next(0, 5, false), (Command::Read, 12), "tRCD");
        assert_eq!(banks.next(1, 5, false), (Command::Activate, 6), "tRRD");
        assert_eq!(banks.next(0, 6, false), (Command::Precharge, 28), "tRAS");
        assert_eq!(banks.issue(Command::Read, 0, 5, 12), 12 + 12 + 2, "tCL and the burst");
        assert_eq!(banks.next(0, 5, false), (Command::Read, 14), "tCCD");
        assert_eq!(banks.next(0, 5, true), (Command::Write, 26 + 1 - 4), "bus turn-round");
        assert_eq!(banks.issue(Command::Write, 0, 5, 30), 36, "tWL and the burst");
        assert_eq!(banks.next(0, 5, false), (Command::Read, 41), "tCDLR");
        assert_eq!(banks.next(0, 6, false), (Command::Precharge, 48), "tWR");
        banks.issue(Command::Precharge, 0, 0, 48);
        assert_eq!(banks.next(0, 6, false), (Command::Activate, 60), "tRP");
        let mut quick = self::banks();
        quick.issue(Command::Activate, 0, 5, 0);
        quick.issue(Command::Precharge, 0, 0, 28);
        assert_eq!(quick.next(0, 6, false), (Command::Activate, 40), "tRC equals tRAS + tRP here");
    }
}
