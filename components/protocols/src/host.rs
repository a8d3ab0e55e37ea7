//! Messages inside the host: between the CPU and its memory, its storage and its path to the devices.

use counterpoint_framework::kernel::{Message, Socket};

use crate::bus::{BusMessage, Copy};
use crate::flip;
use crate::memory::Tag;

/// To or from a device.
#[derive(Clone, Debug, Hash)]
pub struct DeviceMessage {
    /// The device.
    pub device: u32,
    /// The message.
    pub message: BusMessage,
}

impl Message for DeviceMessage {
    const DUPLICATE: Option<fn(&Self) -> Self> = Some(Clone::clone);
    const CORRUPT: Option<fn(&mut Self, u64) -> bool> =
        Some(|message, bits| BusMessage::CORRUPT.is_some_and(|corrupt| corrupt(&mut message.message, bits)));

    fn wire_bytes(&self) -> u64 {
        self.message.wire_bytes()
    }
}

/// An end of the link between a host component and the root complex; both ends are alike.
pub type DeviceSocket = Socket<DeviceMessage, DeviceMessage>;

/// From the CPU to its memory.
#[derive(Clone, Debug, Hash)]
pub enum HostAccess {
    /// Watches for the first write to each word of a range: a page that has them all is sent to the device.
    Track {
        /// The device.
        device: u32,
        /// The place of the range, and its destination.
        copy: Copy,
    },
    /// Reads.
    Read {
        /// Names the access.
        tag: Tag,
        /// The address.
        address: u64,
        /// Number of bytes.
        bytes: u32,
    },
    /// Writes.
    Write {
        /// Names the access.
        tag: Tag,
        /// The address.
        address: u64,
        /// The values.
        data: Box<[u8]>,
    },
}

/// From host memory to the CPU.
#[derive(Clone, Debug, Hash)]
pub enum HostReply {
    /// The values read.
    Values {
        /// The CPU's name for the access.
        tag: Tag,
        /// The values.
        data: Box<[u8]>,
    },
    /// The write is done.
    Written {
        /// The CPU's name for the access.
        tag: Tag,
    },
}

impl Message for HostAccess {
    const DUPLICATE: Option<fn(&Self) -> Self> = Some(Clone::clone);
    const CORRUPT: Option<fn(&mut Self, u64) -> bool> = Some(|access, bits| match access {
        HostAccess::Track { .. } | HostAccess::Read { .. } => false,
        HostAccess::Write { data, .. } => flip(data, bits),
    });
}

impl Message for HostReply {
    const DUPLICATE: Option<fn(&Self) -> Self> = Some(Clone::clone);
    const CORRUPT: Option<fn(&mut Self, u64) -> bool> = Some(|reply, bits| match reply {
        HostReply::Values { data, .. } => flip(data, bits),
        HostReply::Written { .. } => false,
    });
}

/// The CPU's side.
pub type HostMemoryClient = Socket<HostAccess, HostReply>;
/// The memory's side.
pub type HostMemoryServer = Socket<HostReply, HostAccess>;

/// Names an open file of a storage device: its position in the run's list of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileIndex(pub u32);

/// From the CPU to a storage device.
#[derive(Clone, Debug, Hash)]
pub enum StorageRequest {
    /// Reads part of a file.
    Read {
        /// Names the request.
        tag: Tag,
        /// The file.
        file: FileIndex,
        /// From where.
        offset: u64,
        /// Number of bytes.
        bytes: u32,
    },
    /// Writes part of a file.
    Write {
        /// Names the request.
        tag: Tag,
        /// The file.
        file: FileIndex,
        /// The destination.
        offset: u64,
        /// The values.
        data: Box<[u8]>,
    },
}

/// From a storage device to the CPU.
#[derive(Clone, Debug, Hash)]
pub enum StorageReply {
    /// The values read.
    Values {
        /// The CPU's name for the request.
        tag: Tag,
        /// The values.
        data: Box<[u8]>,
    },
    /// The write is on the medium.
    Written {
        /// The CPU's name for the request.
        tag: Tag,
    },
}

impl Message for StorageRequest {
    const DUPLICATE: Option<fn(&Self) -> Self> = Some(Clone::clone);
    const CORRUPT: Option<fn(&mut Self, u64) -> bool> = Some(|request, bits| match request {
        StorageRequest::Read { .. } => false,
        StorageRequest::Write { data, .. } => flip(data, bits),
    });
}

impl Message for StorageReply {
    const DUPLICATE: Option<fn(&Self) -> Self> = Some(Clone::clone);
    const CORRUPT: Option<fn(&mut Self, u64) -> bool> = Some(|reply, bits| match reply {
        StorageReply::Values { data, .. } => flip(data, bits),
        StorageReply::Written { .. } => false,
    });
}

/// The CPU's side.
pub type StorageClient = Socket<StorageRequest, StorageReply>;
/// The device's side.
pub type StorageServer = Socket<StorageReply, StorageRequest>;
