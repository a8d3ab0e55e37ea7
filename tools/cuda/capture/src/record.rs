//! The entries of a record.

use serde::{Deserialize, Serialize};

/// Bytes in the record's file of bytes: pieces of that file, each with its offset and length.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Blob(pub Vec<[u64; 2]>);

impl Blob {
    /// Length of the pieces in bytes.
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|[_, bytes]| bytes).sum()
    }
}

/// Rows of bytes in device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Region {
    /// Address of the first byte.
    pub address: u64,
    /// Bytes of a row.
    pub width: u64,
    /// Rows.
    pub rows: u64,
    /// Bytes from the beginning of a row to that of the next.
    pub pitch: u64,
}

impl Region {
    /// A region of contiguous bytes.
    pub fn line(address: u64, bytes: u64) -> Self {
        Region { address, width: bytes, rows: 1, pitch: bytes }
    }

    /// Bytes of all rows.
    pub fn bytes(&self) -> u64 {
        self.width * self.rows
    }

    /// Bytes from the first to the last, gaps between rows included.
    pub fn extent(&self) -> u64 {
        if self.rows == 0 || self.width == 0 { 0 } else { (self.rows - 1) * self.pitch + self.width }
    }

    /// Whether two regions have a byte in common, or bytes of one are between rows of the other.
    pub fn overlaps(&self, other: &Region) -> bool {
        self.address < other.address + other.extent() && other.address < self.address + self.extent()
    }

    /// Addresses of the beginnings of its rows.
    pub fn starts(&self) -> impl Iterator<Item = u64> + use<> {
        let Region { address, rows, pitch, .. } = *self;
        (0..rows).map(move |row| address + row * pitch)
    }
}

/// Direction of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// Host to device.
    In,
    /// Device to host.
    Out,
}

/// Sizes in x, y and z.
pub type Dim = [u32; 3];

/// A module of code.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Module {
    /// Number of the module, from 0.
    pub number: u32,
    /// File of the PTX, in the folder of the record.
    pub file: String,
    /// Address of its variables on the device.
    pub globals: u64,
    /// Address of its constants on the device.
    pub constants: u64,
}

/// A part of memory with coordinates, and the handle that the program received for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Elements {
    /// The handle: textures and surfaces are counted as those of an application.
    pub handle: u64,
    /// Address of the first element.
    pub address: u64,
    /// Elements in x, y and z.
    pub size: [u32; 3],
    /// Layers, if it has some.
    pub layers: Option<u32>,
    /// Bytes from a row to the next, if there are some between rows.
    pub pitch: Option<u64>,
    /// Channels of an element.
    pub channels: u32,
    /// Type of a channel, such as `f32`.
    pub channel: String,
}

/// A texture.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Texels {
    /// Memory of the texture.
    pub elements: Elements,
    /// Integers are read as fractions of 1.
    pub fractions: bool,
    /// The texture interpolates linearly.
    pub linear: bool,
    /// Coordinates run from 0 to 1.
    pub normalized: bool,
    /// Address modes beyond the edges in x, y and z, in the words of an application.
    pub edges: [String; 3],
}

/// An entry of the record, in the order of the program's calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "kebab-case")]
pub enum Entry {
    /// The first one.
    Program {
        /// The command line.
        arguments: Vec<String>,
    },
    /// A module is on the device.
    Module(Module),
    /// Memory of the device.
    Allocate {
        /// Address of the memory.
        address: u64,
        /// Size of the memory in bytes.
        bytes: u64,
    },
    /// A stream that the default stream does not wait for, nor it for the default stream.
    NonBlocking {
        /// The stream.
        stream: u32,
    },
    /// Sizes of heap, print buffer and stack for the launches that follow.
    Library {
        /// Bytes of the heap.
        heap: u64,
        /// Bytes of text that is not read yet.
        printf: u64,
        /// Bytes of each thread's stack.
        stack: u64,
    },
    /// A texture of memory of the device.
    Texture(Texels),
    /// A surface of memory of the device.
    Surface(Elements),
    /// Memory of the device is given back.
    Free {
        /// Address of the memory.
        address: u64,
    },
    /// A copy between host and device.
    Copy {
        /// Direction.
        way: Way,
        /// Region on the device.
        device: Region,
        /// The bytes, rows behind one another.
        blob: Blob,
        /// Stream of the copy.
        stream: u32,
        /// Whether the host waits for it.
        waits: bool,
        /// A bit for each byte of a copy to the host: set for a byte that has never been written. Absent if
        /// all bytes have been written.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unwritten: Option<Blob>,
    },
    /// A copy on the device.
    Move {
        /// Source of the copy.
        from: Region,
        /// Destination of the copy, in rows of the same width.
        to: Region,
        /// Stream of the copy.
        stream: u32,
    },
    /// Memory is filled with a value.
    Fill {
        /// Region that is filled.
        region: Region,
        /// The bytes of a value.
        value: Vec<u8>,
        /// Stream of the fill.
        stream: u32,
    },
    /// A launch.
    Launch {
        /// Number of the module.
        module: u32,
        /// The kernel.
        kernel: String,
        /// Blocks.
        grid: Dim,
        /// Threads of a block.
        block: Dim,
        /// Bytes of dynamic shared memory.
        shared: u32,
        /// Parameters of the launch as bytes.
        parameters: Vec<u8>,
        /// Stream of the launch.
        stream: u32,
        /// The launch is cooperative: its blocks may wait for each other.
        cooperative: bool,
    },
    /// An event is recorded on a stream.
    Record {
        /// The event.
        event: u32,
        /// The stream.
        stream: u32,
    },
    /// A stream waits for an event.
    Wait {
        /// The event.
        event: u32,
        /// The stream.
        stream: u32,
    },
    /// The host waits for all that it has sent on a stream, or on all.
    Synchronize {
        /// The stream; all if there is none.
        stream: Option<u32>,
    },
    /// The host waits for an event.
    Await {
        /// The event.
        event: u32,
    },
    /// The host has computed since the entry before.
    Work {
        /// Processor time.
        nanoseconds: u64,
    },
    /// A file is read up to a place.
    Read {
        /// The file.
        path: String,
        /// Offset of the first byte.
        from: u64,
        /// Offset of the end.
        to: u64,
    },
    /// A file is written up to a place.
    Wrote {
        /// The file.
        path: String,
        /// Offset of the first byte.
        from: u64,
        /// Offset of the end.
        to: u64,
    },
    /// A call that is not there, or fails.
    Refused {
        /// The function.
        call: String,
        /// The reason.
        reason: String,
    },
    /// A kernel did what it must not.
    Fault {
        /// Message.
        message: String,
    },
    /// The data of copies have reached the record's limit, in bytes: it ends here.
    Limit {
        /// The limit.
        bytes: u64,
    },
    /// Kernels printed.
    Printed {
        /// The text.
        text: String,
    },
    /// The program has ended as programs do.
    End,
}
