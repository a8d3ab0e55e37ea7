//! `cudaDeviceReset`: the device as it was in the beginning. A kernel that has failed is forgotten, which is what a program resets for; under CUDA 13
//! it would have to start anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use counterpoint_cuda_capture::{Entry, Region, Way};

use crate::errors::Result;
use crate::made::Made;
use crate::modules::{Module, Placed};
use crate::state::State;

impl State {
    pub(crate) fn reset(&mut self) -> Result {
        self.waiting.clear();
        self.synchronize(None);
        self.failed = None;
        self.free_all_shared()?;
        for address in self.device.free_all()? {
            self.recorder.write(&Entry::Free { address });
        }
        self.arrays.clear();
        self.textures = Arc::default();
        self.streams = BTreeMap::from([(0, Made::default())]);
        self.events.clear();
        self.graphs.clear();
        self.registered.clear();
        self.stored.clear();
        self.virtual_memory = Default::default();
        self.libraries.forget();
        self.functions.clear();
        self.pool = Default::default();
        (self.device_flags, self.cache_config) = (0, 0);
        for thread in self.threads() {
            thread.stream = None;
            thread.configurations.clear();
        }
        self.reset_limits();
        self.reset_variables()
    }

    /// Gives variables of modules their first values, where they have others.
    fn reset_variables(&mut self) -> Result {
        let values: Vec<_> = self.modules.loaded().flat_map(|module| Module::first_values(module)).collect();
        for (Placed { address, bytes }, first) in values {
            let region = Region::line(address, bytes);
            if self.device.read(region)? != first {
                self.device.write(region, &first)?;
                self.note_copy(Way::In, region, &first, 0, true);
            }
            self.shared.put(address, &first)?;
        }
        Ok(())
    }
}
