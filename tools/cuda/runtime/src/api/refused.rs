//! The functions of CUDA's runtime that are not there: a call prints the name and returns an error.
//!
//! Names are those that NVIDIA's libraries of CUDA 11, 12 and 13 export.

/// Functions that refuse by name.
macro_rules! refused {
    ($($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            #[allow(non_snake_case, reason = "the name is CUDA's")]
            extern "C" fn $name() -> i32 {
                crate::state::call(stringify!($name), |state| {
                    Err(state.refuse(stringify!($name), "is not supported"))
                })
            }
        )*
    };
}

refused! {
    __cudaGetProcAddress __cudaLaunchKernel_ptsz __cudaRegisterSurface __cudaRegisterTexture
    __cudaRegisterUnifiedTable cudaArrayGetMemoryRequirements cudaArrayGetPlane
    cudaArrayGetSparseProperties cudaBindSurfaceToArray cudaBindTexture cudaBindTexture2D
    cudaBindTextureToArray cudaBindTextureToMipmappedArray
    cudaCreateTextureObject_v2 cudaDestroyExternalMemory cudaDestroyExternalSemaphore
    cudaDevResourceGenerateDesc cudaDevSmResourceSplit
    cudaDevSmResourceSplitByCount cudaDeviceFlushGPUDirectRDMAWrites cudaDeviceGetByPCIBusId
    cudaDeviceGetDevResource cudaDeviceGetExecutionCtx cudaDeviceGetHostAtomicCapabilities
    cudaDeviceGetNvSciSyncAttributes cudaDeviceGetP2PAtomicCapabilities cudaDeviceGetPCIBusId
    cudaDeviceGetSharedMemConfig cudaDeviceGetTexture1DLinearMaxWidth cudaDeviceRegisterAsyncNotification
    cudaDeviceUnregisterAsyncNotification cudaEGLStreamConsumerAcquireFrame cudaEGLStreamConsumerConnect
    cudaEGLStreamConsumerConnectWithFlags cudaEGLStreamConsumerDisconnect cudaEGLStreamConsumerReleaseFrame
    cudaEGLStreamProducerConnect cudaEGLStreamProducerDisconnect cudaEGLStreamProducerPresentFrame
    cudaEGLStreamProducerReturnFrame cudaEventCreateFromEGLSync cudaEventRecordWithFlags_ptsz
    cudaEventRecord_ptsz cudaExecutionCtxDestroy cudaExecutionCtxGetDevResource cudaExecutionCtxGetDevice
    cudaExecutionCtxGetId cudaExecutionCtxRecordEvent cudaExecutionCtxStreamCreate
    cudaExecutionCtxSynchronize cudaExecutionCtxWaitEvent cudaExternalMemoryGetMappedBuffer
    cudaExternalMemoryGetMappedMipmappedArray cudaFreeAsync_ptsz cudaFreeMipmappedArray cudaFuncGetName
    cudaFuncGetParamCount cudaFuncGetParamInfo cudaGLGetDevices cudaGLMapBufferObject
    cudaGLMapBufferObjectAsync cudaGLRegisterBufferObject cudaGLSetBufferObjectMapFlags cudaGLSetGLDevice
    cudaGLUnmapBufferObject cudaGLUnmapBufferObjectAsync cudaGLUnregisterBufferObject
    cudaGetDriverEntryPoint cudaGetDriverEntryPointByVersion cudaGetDriverEntryPointByVersion_ptsz
    cudaGetDriverEntryPoint_ptsz cudaGetExportTable cudaGetFuncBySymbol cudaGetKernel
    cudaGetMipmappedArrayLevel cudaGetSurfaceObjectResourceDesc cudaGetSurfaceReference
    cudaGetTextureAlignmentOffset cudaGetTextureObjectResourceDesc cudaGetTextureObjectResourceViewDesc
    cudaGetTextureObjectTextureDesc cudaGetTextureObjectTextureDesc_v2 cudaGetTextureReference
    cudaGraphAddDependencies_v2 cudaGraphAddExternalSemaphoresSignalNode
    cudaGraphAddExternalSemaphoresWaitNode cudaGraphAddNode cudaGraphAddNode_v2
    cudaGraphChildGraphNodeGetGraph cudaGraphConditionalHandleCreate cudaGraphConditionalHandleCreate_v2
    cudaGraphDebugDotPrint cudaGraphEventRecordNodeGetEvent cudaGraphEventRecordNodeSetEvent
    cudaGraphEventWaitNodeGetEvent cudaGraphEventWaitNodeSetEvent cudaGraphExecChildGraphNodeSetParams
    cudaGraphExecEventRecordNodeSetEvent cudaGraphExecEventWaitNodeSetEvent
    cudaGraphExecExternalSemaphoresSignalNodeSetParams cudaGraphExecExternalSemaphoresWaitNodeSetParams
    cudaGraphExecGetFlags cudaGraphExecGetId cudaGraphExecMemcpyNodeSetParamsFromSymbol
    cudaGraphExecMemcpyNodeSetParamsToSymbol cudaGraphExecNodeSetParams
    cudaGraphExternalSemaphoresSignalNodeGetParams cudaGraphExternalSemaphoresSignalNodeSetParams
    cudaGraphExternalSemaphoresWaitNodeGetParams cudaGraphExternalSemaphoresWaitNodeSetParams
    cudaGraphGetEdges cudaGraphGetEdges_v2 cudaGraphGetId cudaGraphHostNodeGetParams
    cudaGraphInstantiateWithParams cudaGraphInstantiateWithParams_ptsz cudaGraphKernelNodeCopyAttributes
    cudaGraphKernelNodeGetAttribute cudaGraphKernelNodeGetParams cudaGraphKernelNodeSetAttribute
    cudaGraphLaunch_ptsz cudaGraphMemAllocNodeGetParams cudaGraphMemFreeNodeGetParams
    cudaGraphMemcpyNodeGetParams cudaGraphMemcpyNodeSetParamsFromSymbol cudaGraphMemcpyNodeSetParamsToSymbol
    cudaGraphMemsetNodeGetParams cudaGraphNodeGetContainingGraph cudaGraphNodeGetDependencies
    cudaGraphNodeGetDependencies_v2 cudaGraphNodeGetDependentNodes cudaGraphNodeGetDependentNodes_v2
    cudaGraphNodeGetEnabled cudaGraphNodeGetLocalId cudaGraphNodeGetParams cudaGraphNodeGetToolsId
    cudaGraphNodeSetEnabled cudaGraphNodeSetParams cudaGraphReleaseUserObject cudaGraphRemoveDependencies
    cudaGraphRemoveDependencies_v2 cudaGraphRetainUserObject cudaGraphUpload_ptsz
    cudaGraphicsEGLRegisterImage cudaGraphicsGLRegisterBuffer cudaGraphicsGLRegisterImage
    cudaGraphicsMapResources cudaGraphicsResourceGetMappedEglFrame
    cudaGraphicsResourceGetMappedMipmappedArray cudaGraphicsResourceGetMappedPointer
    cudaGraphicsResourceSetMapFlags cudaGraphicsSubResourceGetMappedArray cudaGraphicsUnmapResources
    cudaGraphicsUnregisterResource cudaGraphicsVDPAURegisterOutputSurface
    cudaGraphicsVDPAURegisterVideoSurface cudaGreenCtxCreate cudaImportExternalMemory
    cudaImportExternalSemaphore cudaIpcCloseMemHandle cudaIpcGetEventHandle cudaIpcGetMemHandle
    cudaIpcOpenEventHandle cudaIpcOpenMemHandle cudaKernelSetAttributeForDevice
    cudaLaunchCooperativeKernelMultiDevice cudaLaunchCooperativeKernel_ptsz cudaLaunchHostFunc_ptsz
    cudaLaunchHostFunc_v2 cudaLaunchHostFunc_v2_ptsz cudaLaunchKernelExC_ptsz cudaLaunchKernel_ptsz
    cudaLibraryEnumerateKernels cudaLibraryGetGlobal cudaLibraryGetKernel cudaLibraryGetKernelCount
    cudaLibraryGetManaged cudaLibraryGetUnifiedFunction cudaLibraryLoadData cudaLibraryLoadFromFile
    cudaLibraryUnload cudaLogsCurrent cudaLogsDumpToFile cudaLogsDumpToMemory cudaLogsRegisterCallback
    cudaLogsUnregisterCallback cudaMallocAsync_ptsz cudaMallocFromPoolAsync_ptsz cudaMallocMipmappedArray
    cudaMemAdvise_v2 cudaMemDiscardAndPrefetchBatchAsync cudaMemDiscardAndPrefetchBatchAsync_ptsz
    cudaMemDiscardBatchAsync cudaMemDiscardBatchAsync_ptsz cudaMemGetDefaultMemPool cudaMemGetLocationInfo
    cudaMemGetMemPool cudaMemPoolCreate cudaMemPoolDestroy cudaMemPoolExportPointer
    cudaMemPoolExportToShareableHandle cudaMemPoolGetAccess cudaMemPoolImportFromShareableHandle
    cudaMemPoolImportPointer cudaMemPoolSetAccess cudaMemPoolTrimTo cudaMemPrefetchAsync_ptsz
    cudaMemPrefetchAsync_v2 cudaMemPrefetchAsync_v2_ptsz cudaMemPrefetchBatchAsync
    cudaMemPrefetchBatchAsync_ptsz cudaMemRangeGetAttribute cudaMemRangeGetAttributes cudaMemSetMemPool
    cudaMemcpy2DArrayToArray_ptds cudaMemcpy2DAsync_ptsz
    cudaMemcpy2DFromArrayAsync_ptsz cudaMemcpy2DFromArray_ptds cudaMemcpy2DToArrayAsync_ptsz
    cudaMemcpy2DToArray_ptds cudaMemcpy2D_ptds cudaMemcpy3DAsync_ptsz cudaMemcpy3DBatchAsync
    cudaMemcpy3DBatchAsync_ptsz cudaMemcpy3DPeer cudaMemcpy3DPeerAsync cudaMemcpy3DPeerAsync_ptsz
    cudaMemcpy3DPeer_ptds cudaMemcpy3DWithAttributesAsync cudaMemcpy3DWithAttributesAsync_ptsz
    cudaMemcpy3D_ptds cudaMemcpyArrayToArray cudaMemcpyArrayToArray_ptds cudaMemcpyAsync_ptsz
    cudaMemcpyBatchAsync cudaMemcpyBatchAsync_ptsz cudaMemcpyFromArrayAsync cudaMemcpyFromArrayAsync_ptsz
    cudaMemcpyFromArray_ptds cudaMemcpyFromSymbolAsync_ptsz cudaMemcpyFromSymbol_ptds cudaMemcpyToArrayAsync
    cudaMemcpyToArrayAsync_ptsz cudaMemcpyToArray_ptds cudaMemcpyToSymbolAsync_ptsz cudaMemcpyToSymbol_ptds
    cudaMemcpyWithAttributesAsync cudaMemcpyWithAttributesAsync_ptsz cudaMemcpy_ptds cudaMemset2DAsync_ptsz
    cudaMemset2D_ptds cudaMemset3DAsync cudaMemset3DAsync_ptsz cudaMemset3D_ptds cudaMemsetAsync_ptsz
    cudaMemset_ptds cudaMipmappedArrayGetMemoryRequirements cudaMipmappedArrayGetSparseProperties
    cudaOccupancyAvailableDynamicSMemPerBlock cudaOccupancyMaxActiveClusters
    cudaOccupancyMaxPotentialClusterSize cudaProfilerInitialize cudaSetDoubleForDevice cudaSetDoubleForHost
    cudaSetValidDevices cudaSignalExternalSemaphoresAsync cudaSignalExternalSemaphoresAsync_ptsz
    cudaSignalExternalSemaphoresAsync_v2 cudaSignalExternalSemaphoresAsync_v2_ptsz
    cudaStreamAddCallback_ptsz cudaStreamAttachMemAsync_ptsz cudaStreamBeginCaptureToGraph
    cudaStreamBeginCaptureToGraph_ptsz cudaStreamBeginCapture_ptsz cudaStreamBeginRecaptureToGraph
    cudaStreamBeginRecaptureToGraph_ptsz cudaStreamCopyAttributes cudaStreamCopyAttributes_ptsz
    cudaStreamEndCapture_ptsz cudaStreamGetAttribute cudaStreamGetAttribute_ptsz cudaStreamGetCaptureInfo
    cudaStreamGetCaptureInfo_ptsz cudaStreamGetCaptureInfo_v2 cudaStreamGetCaptureInfo_v2_ptsz
    cudaStreamGetCaptureInfo_v3 cudaStreamGetCaptureInfo_v3_ptsz cudaStreamGetDevResource
    cudaStreamGetDevResource_ptsz cudaStreamGetDevice cudaStreamGetDevice_ptsz cudaStreamGetFlags_ptsz
    cudaStreamGetId cudaStreamGetId_ptsz cudaStreamGetPriority_ptsz cudaStreamIsCapturing_ptsz
    cudaStreamQuery_ptsz cudaStreamSetAttribute_ptsz cudaStreamSynchronize_ptsz
    cudaStreamUpdateCaptureDependencies cudaStreamUpdateCaptureDependencies_ptsz
    cudaStreamUpdateCaptureDependencies_v2 cudaStreamUpdateCaptureDependencies_v2_ptsz
    cudaStreamWaitEvent_ptsz cudaSubgridCreate cudaSubgridWorkerGridCreate cudaSubgridWorksetCreate
    cudaThreadGetCacheConfig cudaThreadGetLimit cudaThreadSetLimit cudaUnbindTexture cudaUserObjectCreate
    cudaUserObjectRelease cudaUserObjectRetain cudaVDPAUGetDevice cudaVDPAUSetVDPAUDevice
    cudaWaitExternalSemaphoresAsync cudaWaitExternalSemaphoresAsync_ptsz cudaWaitExternalSemaphoresAsync_v2
    cudaWaitExternalSemaphoresAsync_v2_ptsz
}
