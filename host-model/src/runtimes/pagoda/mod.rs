//! Pagoda (Yeh et al., PPoPP 2017): a kernel that owns the GPU and takes narrow tasks from a table.

pub mod buddy;
pub mod task_table;
pub mod warp_table;
