//! Texts about results of libraries whose functions are refused: a refused function has a number as its result, and these have a text.

use std::ffi::c_int;

use super::entries;

entries! {
    fn cusparseGetErrorName(_status: c_int) => Answer |state| { state.lasting_text("CUSPARSE_STATUS_NOT_SUPPORTED") }

    fn cusparseGetErrorString(_status: c_int) => Answer |state| { state.lasting_text("operation not supported") }

    fn cudnnGetErrorString(_status: c_int) => Answer |state| { state.lasting_text("CUDNN_STATUS_NOT_SUPPORTED") }
}
