/* The one device: its properties, attributes, limits and versions. */
#include <stdlib.h>
#include <string.h>

#include "cudart/cudart.h"

#define NAME "gpureduce PTX simulator (sizes of an H200)"
#define PCI_ADDRESS "0000:00:00.0"

static int attribute(int number) {
    switch (number) {
#define ATTRIBUTE(number, value)                                                                             \
    case number:                                                                                             \
        return value;
#include "cudart/attributes.def"
    default:
        return 0;
    }
}

static cudaError_t check_device(int device) {
    return device == 0
               ? cudaSuccess
               : cudart_refuse(cudaErrorInvalidDevice, "device %d: the simulator is device 0 alone", device);
}

static cudaError_t properties(cudaDeviceProp *p, int device) {
    if (device != 0)
        return check_device(device);
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "%s", NAME);
    p->totalGlobalMem = cudart.memory_bytes;
    p->sharedMemPerBlock = (size_t)attribute(8);
    p->regsPerBlock = attribute(12);
    p->warpSize = attribute(10);
    p->memPitch = (size_t)attribute(11);
    p->maxThreadsPerBlock = attribute(1);
    for (int i = 0; i < 3; i++) {
        p->maxThreadsDim[i] = attribute(2 + i);
        p->maxGridSize[i] = attribute(5 + i);
    }
    p->totalConstMem = (size_t)attribute(9);
    p->major = attribute(75);
    p->minor = attribute(76);
    p->textureAlignment = (size_t)attribute(14);
    p->texturePitchAlignment = (size_t)attribute(51);
    p->multiProcessorCount = attribute(16);
    p->canMapHostMemory = attribute(19);
    p->surfaceAlignment = (size_t)attribute(30);
    p->concurrentKernels = attribute(31);
    p->asyncEngineCount = attribute(40);
    p->unifiedAddressing = attribute(41);
    p->memoryBusWidth = attribute(37);
    p->l2CacheSize = attribute(38);
    p->maxThreadsPerMultiProcessor = attribute(39);
    p->streamPrioritiesSupported = attribute(78);
    p->globalL1CacheSupported = attribute(79);
    p->localL1CacheSupported = attribute(80);
    p->sharedMemPerMultiprocessor = (size_t)attribute(81);
    p->regsPerMultiprocessor = attribute(82);
    p->managedMemory = attribute(83);
    p->hostNativeAtomicSupported = attribute(86);
    p->concurrentManagedAccess = attribute(89);
    p->computePreemptionSupported = attribute(90);
    p->canUseHostPointerForRegisteredMem = attribute(91);
    p->cooperativeLaunch = attribute(95);
    p->sharedMemPerBlockOptin = (size_t)attribute(97);
    p->maxBlocksPerMultiProcessor = attribute(106);
    p->reservedSharedMemPerBlock = (size_t)attribute(111);
    p->hostRegisterSupported = attribute(99);
    p->memoryPoolsSupported = attribute(115);
    p->clusterLaunch = attribute(120);
    return cudaSuccess;
}

static cudaError_t give(int *to, int value) {
    if (to)
        *to = value;
    return to ? cudaSuccess : cudaErrorInvalidValue;
}

static cudaError_t give_of_device(int *to, int value, int device) {
    const cudaError_t error = check_device(device);
    return error == cudaSuccess ? give(to, value) : error;
}

CUDART_API cudaGetDeviceProperties(cudaDeviceProp *p, int device) {
    CUDART_RUN(properties(p, device));
}

CUDART_API cudaDeviceGetAttribute(int *value, int which, int device) {
    CUDART_RUN(give_of_device(value, attribute(which), device));
}

CUDART_API cudaGetDeviceCount(int *count) {
    CUDART_RUN(give(count, 1));
}

CUDART_API cudaGetDevice(int *device) {
    CUDART_RUN(give(device, 0));
}

CUDART_API cudaChooseDevice(int *device, const cudaDeviceProp *wanted) {
    (void)wanted;
    CUDART_RUN(give(device, 0));
}

CUDART_API cudaSetDevice(int device) {
    CUDART_RUN(check_device(device));
}

CUDART_API cudaInitDevice(int device, unsigned device_flags, unsigned flags) {
    (void)device_flags, (void)flags;
    CUDART_RUN(check_device(device));
}

CUDART_API cudaSetValidDevices(int *devices, int count) {
    CUDART_RUN(devices && count == 1 ? check_device(*devices) : cudaErrorInvalidValue);
}

enum { MAPS_HOST_MEMORY = 8 }; /* every device of CUDA 13 does */

static unsigned device_flags;

static cudaError_t set_device_flags(unsigned flags) {
    device_flags = flags;
    return cudaSuccess;
}

CUDART_API cudaSetDeviceFlags(unsigned flags) {
    CUDART_RUN(set_device_flags(flags));
}

CUDART_API cudaGetDeviceFlags(unsigned *flags) {
    CUDART_RUN(give((int *)flags, (int)(device_flags | MAPS_HOST_MEMORY)));
}

static cudaError_t pci_address(char *to, int length, int device) {
    const cudaError_t error = check_device(device);
    if (error == cudaSuccess && length > 0)
        snprintf(to, (size_t)length, "%s", PCI_ADDRESS);
    return error;
}

CUDART_API cudaDeviceGetPCIBusId(char *to, int length, int device) {
    CUDART_RUN(pci_address(to, length, device));
}

CUDART_API cudaDeviceGetByPCIBusId(int *device, const char *address) {
    CUDART_RUN(strcmp(address, PCI_ADDRESS) == 0 ? give(device, 0) : cudaErrorInvalidDevice);
}

/* ---- other devices, of which there are none ---- */

CUDART_API cudaDeviceCanAccessPeer(int *can, int device, int peer) {
    CUDART_RUN(peer == 0 ? give_of_device(can, 0, device) : check_device(peer));
}

CUDART_API cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
    (void)flags;
    CUDART_RUN(peer == 0 ? cudaErrorPeerAccessUnsupported : check_device(peer));
}

CUDART_API cudaDeviceDisablePeerAccess(int peer) {
    CUDART_RUN(peer == 0 ? cudaErrorInvalidDevice : check_device(peer));
}

/* ---- versions ---- */

CUDART_API cudaRuntimeGetVersion(int *version) {
    CUDART_RUN(give(version, CUDART_VERSION));
}

CUDART_API cudaDriverGetVersion(int *version) {
    CUDART_RUN(give(version, CUDART_VERSION));
}

/* ---- limits and preferences ---- */

static cudaError_t set_limit(unsigned limit, size_t value) {
    if (limit >= CUDART_LIMITS)
        return cudaErrorInvalidValue;
    if (limit == cudaLimitMallocHeapSize && cudart.heap)
        return cudart_refuse(cudaErrorInvalidValue,
                             "the heap is in use: set its size before the first launch that "
                             "calls malloc");
    cudart.limits[limit] = value;
    return cudaSuccess;
}

static cudaError_t get_limit(size_t *value, unsigned limit) {
    if (limit >= CUDART_LIMITS)
        return cudaErrorInvalidValue;
    *value = cudart.limits[limit];
    return cudaSuccess;
}

CUDART_API cudaDeviceSetLimit(unsigned limit, size_t value) {
    CUDART_RUN(set_limit(limit, value));
}

CUDART_API cudaDeviceGetLimit(size_t *value, unsigned limit) {
    CUDART_RUN(get_limit(value, limit));
}

CUDART_API cudaDeviceSetCacheConfig(int config) {
    (void)config;
    CUDART_RUN(cudaSuccess);
}

CUDART_API cudaDeviceGetCacheConfig(int *config) {
    CUDART_RUN(give(config, 0));
}

CUDART_API cudaDeviceSetSharedMemConfig(int config) {
    (void)config;
    CUDART_RUN(cudaSuccess);
}

CUDART_API cudaDeviceGetSharedMemConfig(int *config) {
    CUDART_RUN(give(config, 1)); /* banks of four bytes */
}

CUDART_API cudaCtxResetPersistingL2Cache(void) {
    CUDART_RUN(cudaSuccess);
}

CUDART_API cudaProfilerStart(void) {
    CUDART_RUN(cudaSuccess);
}

CUDART_API cudaProfilerStop(void) {
    CUDART_RUN(cudaSuccess);
}

/* ---- reset ---- */

/* A reset clears errors. Allocations remain, so that a wrong use of them after the reset is still reported.
 */
CUDART_API cudaDeviceReset(void) {
    cudart_lock(true);
    cudart_show_printed();
    cudart.pending = cudart.sticky = cudaSuccess;
    return cudart_leave(cudaSuccess);
}

__attribute__((visibility("default"))) cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                                                   int format) {
    return (cudaChannelFormatDesc){x, y, z, w, format};
}
