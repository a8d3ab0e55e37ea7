//! Return path of replies through crossbars and networks in sequence.
//!
//! Each crossbar or network multiplies the client number of a request by the number of its own clients and adds the client that
//! sent the request. The client number of a reply is divided by that number; the remainder is the client that receives the reply.

use std::cell::Cell;

use counterpoint_framework::kernel::Fault;
use counterpoint_protocols::memory::{MemReply, MemRequest};

/// The clients of a crossbar or network.
pub(super) struct Clients {
    count: u32,
    /// The largest client number of a request from a network in front.
    largest: Cell<u32>,
    too_many: Cell<bool>,
}

impl Clients {
    /// A number of clients.
    pub(super) fn new(count: usize) -> Self {
        Clients { count: count as u32, largest: Cell::new(0), too_many: Cell::new(false) }
    }

    /// Adds the requesting client to a request.
    #[inline]
    pub(super) fn add(&self, request: &mut MemRequest, client: u32) {
        self.largest.set(self.largest.get().max(request.client));
        let own = request.client.checked_mul(self.count).and_then(|before| before.checked_add(client));
        self.too_many.set(own.is_none());
        request.client = own.unwrap_or(client);
    }

    /// Fails if the clients on the path of a request exceed the range of client numbers.
    ///
    /// # Errors
    /// A sentence about their number.
    pub(super) fn check(&self) -> Result<(), Fault> {
        match self.too_many.get() {
            true => Err(Fault::new("the clients of all networks on a path are more than 2^32")),
            false => Ok(()),
        }
    }

    /// The client that receives a reply; a number beyond the clients if no request has named it.
    #[inline]
    pub(super) fn of(&self, reply: &MemReply) -> u32 {
        let is_known = reply.client / self.count <= self.largest.get();
        if is_known { reply.client % self.count } else { reply.client }
    }

    /// Replaces the client of a reply by that of the network in front.
    #[inline]
    pub(super) fn remove(&self, reply: &mut MemReply) {
        reply.client /= self.count;
    }
}
