//! Errors of CUDA's runtime, by their numbers.

use std::ffi::CStr;

use counterpoint_ptx::FaultKind;

/// A result that is not success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Error(pub(crate) i32);

pub(crate) type Result<T = ()> = std::result::Result<T, Error>;

/// Number, name and text of each; numbers, names and texts are those of CUDA's `driver_types.h` and `cudaGetErrorString`.
macro_rules! table {
    ($($constant:ident = $number:literal, $name:literal, $text:literal;)*) => {
        #[allow(dead_code, reason = "a program may ask for the name of any of them")]
        impl Error {
            $(pub(crate) const $constant: Error = Error($number);)*
        }

        static TABLE: &[(i32, &CStr, &CStr)] = &[$(($number, $name, $text)),*];
    };
}

table! {
    SUCCESS = 0, c"cudaSuccess", c"no error";
    INVALID_VALUE = 1, c"cudaErrorInvalidValue", c"invalid argument";
    MEMORY_ALLOCATION = 2, c"cudaErrorMemoryAllocation", c"out of memory";
    INITIALIZATION = 3, c"cudaErrorInitializationError", c"initialization error";
    DEINITIALIZED = 4, c"cudaErrorCudartUnloading", c"driver shutting down";
    INVALID_CONFIGURATION = 9, c"cudaErrorInvalidConfiguration", c"invalid configuration argument";
    INVALID_PITCH = 12, c"cudaErrorInvalidPitchValue", c"invalid pitch argument";
    INVALID_SYMBOL = 13, c"cudaErrorInvalidSymbol", c"invalid device symbol";
    INVALID_DEVICE_POINTER = 17, c"cudaErrorInvalidDevicePointer", c"invalid device pointer";
    INVALID_MEMCPY_DIRECTION = 21, c"cudaErrorInvalidMemcpyDirection", c"invalid copy direction for memcpy";
    INVALID_DEVICE_FUNCTION = 98, c"cudaErrorInvalidDeviceFunction", c"invalid device function";
    NO_DEVICE = 100, c"cudaErrorNoDevice", c"no CUDA-capable device is detected";
    INVALID_DEVICE = 101, c"cudaErrorInvalidDevice", c"invalid device ordinal";
    INVALID_IMAGE = 200, c"cudaErrorInvalidKernelImage", c"device kernel image is invalid";
    INVALID_CONTEXT = 201, c"cudaErrorDeviceUninitialized", c"invalid device context";
    NO_KERNEL_IMAGE = 209, c"cudaErrorNoKernelImageForDevice", c"no kernel image is available for execution on the device";
    UNSUPPORTED_LIMIT = 215, c"cudaErrorUnsupportedLimit", c"limit is not supported on this architecture";
    PEER_ACCESS_UNSUPPORTED = 217, c"cudaErrorPeerAccessUnsupported", c"peer access is not supported between these two devices";
    INVALID_PTX = 218, c"cudaErrorInvalidPtx", c"a PTX JIT compilation failed";
    INVALID_SOURCE = 300, c"cudaErrorInvalidSource", c"device kernel image is invalid";
    FILE_NOT_FOUND = 301, c"cudaErrorFileNotFound", c"file not found";
    INVALID_RESOURCE_HANDLE = 400, c"cudaErrorInvalidResourceHandle", c"invalid resource handle";
    ILLEGAL_STATE = 401, c"cudaErrorIllegalState", c"the operation cannot be performed in the present state";
    NOT_FOUND = 500, c"cudaErrorSymbolNotFound", c"named symbol not found";
    NOT_READY = 600, c"cudaErrorNotReady", c"device not ready";
    ILLEGAL_ADDRESS = 700, c"cudaErrorIllegalAddress", c"an illegal memory access was encountered";
    LAUNCH_OUT_OF_RESOURCES = 701, c"cudaErrorLaunchOutOfResources", c"too many resources requested for launch";
    PEER_ACCESS_NOT_ENABLED = 705, c"cudaErrorPeerAccessNotEnabled", c"peer access has not been enabled";
    CONTEXT_IS_DESTROYED = 709, c"cudaErrorContextIsDestroyed", c"context is destroyed";
    ASSERT = 710, c"cudaErrorAssert", c"device-side assert triggered";
    ALREADY_REGISTERED = 712, c"cudaErrorHostMemoryAlreadyRegistered", c"part or all of the requested memory range is already mapped";
    NOT_REGISTERED = 713, c"cudaErrorHostMemoryNotRegistered", c"pointer does not correspond to a registered memory region";
    HARDWARE_STACK = 714, c"cudaErrorHardwareStackError", c"hardware stack error";
    ILLEGAL_INSTRUCTION = 715, c"cudaErrorIllegalInstruction", c"an illegal instruction was encountered";
    MISALIGNED_ADDRESS = 716, c"cudaErrorMisalignedAddress", c"misaligned address";
    INVALID_ADDRESS_SPACE = 717, c"cudaErrorInvalidAddressSpace", c"operation not supported on global/shared address space";
    INVALID_PC = 718, c"cudaErrorInvalidPc", c"invalid program counter";
    LAUNCH_FAILURE = 719, c"cudaErrorLaunchFailure", c"unspecified launch failure";
    COOPERATIVE_TOO_LARGE = 720, c"cudaErrorCooperativeLaunchTooLarge", c"too many blocks in cooperative launch";
    NOT_PERMITTED = 800, c"cudaErrorNotPermitted", c"operation not permitted";
    NOT_SUPPORTED = 801, c"cudaErrorNotSupported", c"operation not supported";
    STREAM_CAPTURE_UNSUPPORTED = 900, c"cudaErrorStreamCaptureUnsupported", c"operation not permitted when stream is capturing";
    STREAM_CAPTURE_MERGE = 902, c"cudaErrorStreamCaptureMerge", c"operation would result in a merge of separate capture sequences";
    STREAM_CAPTURE_UNMATCHED = 903, c"cudaErrorStreamCaptureUnmatched", c"capture was not ended in the same stream as it began";
    STREAM_CAPTURE_UNJOINED = 904, c"cudaErrorStreamCaptureUnjoined", c"capturing stream has unjoined work";
    STREAM_CAPTURE_ISOLATION = 905, c"cudaErrorStreamCaptureIsolation", c"dependency created on uncaptured work in another stream";
    GRAPH_EXEC_UPDATE_FAILURE = 910, c"cudaErrorGraphExecUpdateFailure", c"the graph update was not performed because it included changes which violated constraints specific to instantiated graph update";
    INVALID_CLUSTER_SIZE = 912, c"cudaErrorInvalidClusterSize", c"a kernel launch error has occurred due to cluster misconfiguration";
    UNKNOWN = 999, c"cudaErrorUnknown", c"unknown error";
}

/// The name and text of an error that is not in the table.
const NOT_KNOWN: &CStr = c"unrecognized error code";

impl Error {
    /// No error of CUDA: the call is to be made again.
    pub(crate) const AGAIN: Error = Error(i32::MIN);

    /// Name of the result, as `cudaGetErrorName` gives it.
    pub(crate) fn name(self) -> &'static CStr {
        self.row().map_or(NOT_KNOWN, |(_, name, _)| name)
    }

    /// Text of the result, as `cudaGetErrorString` gives it.
    pub(crate) fn text(self) -> &'static CStr {
        self.row().map_or(NOT_KNOWN, |(_, _, text)| text)
    }

    /// The driver's error for one of the runtime: numbers are the same, but for errors that only the runtime has.
    pub(crate) fn of_driver(self) -> Self {
        match self {
            Error::INVALID_CONFIGURATION
            | Error::INVALID_PITCH
            | Error::INVALID_DEVICE_POINTER
            | Error::INVALID_MEMCPY_DIRECTION => Error::INVALID_VALUE,
            Error::INVALID_SYMBOL => Error::NOT_FOUND,
            Error::INVALID_DEVICE_FUNCTION => Error::INVALID_RESOURCE_HANDLE,
            other => other,
        }
    }

    /// Name of the driver's result, as `cuGetErrorName` gives it, if the driver has such a result.
    pub(crate) fn driver_name(self) -> Option<&'static str> {
        DRIVER_NAMES.iter().find(|(number, _)| *number == self.0).map(|(_, name)| *name)
    }

    /// The error of a kernel that failed so.
    pub(crate) fn of_fault(kind: FaultKind) -> Self {
        match kind {
            // A stack ends where memory does.
            FaultKind::IllegalAddress | FaultKind::StackOverflow => Error::ILLEGAL_ADDRESS,
            FaultKind::MisalignedAddress => Error::MISALIGNED_ADDRESS,
            FaultKind::InvalidAddressSpace => Error::INVALID_ADDRESS_SPACE,
            FaultKind::InvalidProgramCounter => Error::INVALID_PC,
            FaultKind::Assertion => Error::ASSERT,
            FaultKind::Other => Error::LAUNCH_FAILURE,
        }
    }

    pub(crate) fn texts() -> impl Iterator<Item = &'static CStr> {
        TABLE.iter().flat_map(|(_, name, text)| [*name, *text]).chain([NOT_KNOWN])
    }

    fn row(self) -> Option<&'static (i32, &'static CStr, &'static CStr)> {
        TABLE.iter().find(|(number, ..)| *number == self.0)
    }
}

/// Names of the driver's results (`CUresult` in CUDA's `cuda.h`).
static DRIVER_NAMES: &[(i32, &str)] = &[
    (0, "CUDA_SUCCESS"),
    (1, "CUDA_ERROR_INVALID_VALUE"),
    (2, "CUDA_ERROR_OUT_OF_MEMORY"),
    (3, "CUDA_ERROR_NOT_INITIALIZED"),
    (4, "CUDA_ERROR_DEINITIALIZED"),
    (100, "CUDA_ERROR_NO_DEVICE"),
    (101, "CUDA_ERROR_INVALID_DEVICE"),
    (200, "CUDA_ERROR_INVALID_IMAGE"),
    (201, "CUDA_ERROR_INVALID_CONTEXT"),
    (209, "CUDA_ERROR_NO_BINARY_FOR_GPU"),
    (215, "CUDA_ERROR_UNSUPPORTED_LIMIT"),
    (217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"),
    (218, "CUDA_ERROR_INVALID_PTX"),
    (300, "CUDA_ERROR_INVALID_SOURCE"),
    (301, "CUDA_ERROR_FILE_NOT_FOUND"),
    (400, "CUDA_ERROR_INVALID_HANDLE"),
    (401, "CUDA_ERROR_ILLEGAL_STATE"),
    (500, "CUDA_ERROR_NOT_FOUND"),
    (600, "CUDA_ERROR_NOT_READY"),
    (700, "CUDA_ERROR_ILLEGAL_ADDRESS"),
    (701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"),
    (705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED"),
    (709, "CUDA_ERROR_CONTEXT_IS_DESTROYED"),
    (710, "CUDA_ERROR_ASSERT"),
    (712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"),
    (713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED"),
    (714, "CUDA_ERROR_HARDWARE_STACK_ERROR"),
    (715, "CUDA_ERROR_ILLEGAL_INSTRUCTION"),
    (716, "CUDA_ERROR_MISALIGNED_ADDRESS"),
    (717, "CUDA_ERROR_INVALID_ADDRESS_SPACE"),
    (718, "CUDA_ERROR_INVALID_PC"),
    (719, "CUDA_ERROR_LAUNCH_FAILED"),
    (720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"),
    (800, "CUDA_ERROR_NOT_PERMITTED"),
    (801, "CUDA_ERROR_NOT_SUPPORTED"),
    (900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"),
    (902, "CUDA_ERROR_STREAM_CAPTURE_MERGE"),
    (903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED"),
    (904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"),
    (905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"),
    (910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE"),
    (912, "CUDA_ERROR_INVALID_CLUSTER_SIZE"),
    (999, "CUDA_ERROR_UNKNOWN"),
];
