/* A Vulkan layer that emulates GPUs on a machine without them.
 *
 * It makes every device that the driver reports (Mesa's software rasterizer in the tests) look like
 * one or several discrete GPUs with a chosen name, PCI address and memory, so that Foreglow's code
 * for GPUs runs unchanged. The driver still does the arithmetic.
 *
 *   FOREGLOW_RIG_GPUS        number of GPUs per device; 1 by default
 *   FOREGLOW_RIG_NAME        their name; "Rig GPU" by default
 *   FOREGLOW_RIG_MEMORY_MIB  memory of each; an allocation beyond it fails; unlimited by default
 *   FOREGLOW_RIG_INVOCATIONS largest workgroup, invocations; that of the driver by default
 *   FOREGLOW_RIG_WITHOUT     missing features: f16, spirv (what Burn's SPIR-V kernels need) or both
 *   FOREGLOW_RIG_LOST        a file; while it exists, a GPU is lost at its next submission
 *   FOREGLOW_RIG_LOST_GPU    index of the only GPU that is lost, from 0; all by default
 *
 * The memory limit holds per process, because in the tests each executor has its own GPU.
 */

#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#define EXPORT __attribute__((visibility("default")))
#define MOST_GPUS 16
#define MOST_HANDLES 4096

/* A dispatchable Vulkan handle starts with a pointer to a table that all handles of its instance or
 * device share. */
static void *table_of(void *handle) { return *(void **)handle; }

typedef struct {
    void *table;
    VkInstance handle;
    PFN_vkGetInstanceProcAddr next;
    PFN_vkDestroyInstance destroy;
    PFN_vkEnumeratePhysicalDevices enumerate;
    PFN_vkGetPhysicalDeviceProperties properties;
    PFN_vkGetPhysicalDeviceProperties2 properties2;
    PFN_vkGetPhysicalDeviceFeatures2 features2;
    PFN_vkGetPhysicalDeviceMemoryProperties memory;
    PFN_vkGetPhysicalDeviceMemoryProperties2 memory2;
    PFN_vkEnumerateDeviceExtensionProperties extensions;
} Instance;

typedef struct {
    VkPhysicalDevice original, copy;
    uint32_t number;
} Gpu;

typedef struct {
    void *table;
    PFN_vkGetDeviceProcAddr next;
    PFN_vkDestroyDevice destroy;
    PFN_vkQueueSubmit submit;
    PFN_vkQueueSubmit2 submit2;
    PFN_vkAllocateMemory allocate;
    PFN_vkFreeMemory free;
    uint32_t number;
    uint64_t used;
} Device;

typedef struct {
    VkDeviceMemory handle;
    void *table;
    uint64_t size;
} Allocation;

/* Linear searches suffice: the tests create only a few instances and devices per process. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Instance instances[MOST_HANDLES];
static Gpu gpus[MOST_HANDLES];
static Device devices[MOST_HANDLES];
static Allocation *allocations;
static size_t allocation_count, allocation_room;

/* --- Settings --------------------------------------------------------------------------------- */

static uint64_t number_of(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

static uint32_t gpu_count(void) {
    uint64_t count = number_of("FOREGLOW_RIG_GPUS", 1);
    return count < 1 ? 1 : count > MOST_GPUS ? MOST_GPUS : (uint32_t)count;
}

static const char *gpu_name(void) {
    const char *name = getenv("FOREGLOW_RIG_NAME");
    return name && *name ? name : "Rig GPU";
}

static uint64_t memory_bytes(void) { return number_of("FOREGLOW_RIG_MEMORY_MIB", 0) << 20; }

static bool is_without(const char *feature) {
    const char *names = getenv("FOREGLOW_RIG_WITHOUT");
    return names && strstr(names, feature);
}

static bool is_lost(uint32_t number) {
    const char *file = getenv("FOREGLOW_RIG_LOST");
    return file && *file && access(file, F_OK) == 0 && number_of("FOREGLOW_RIG_LOST_GPU", number) == number;
}

/* --- Tables ----------------------------------------------------------------------------------- */

static Instance *instance_of(void *handle) {
    void *table = table_of(handle);
    for (size_t i = 0; i < MOST_HANDLES; i++)
        if (instances[i].table == table) return &instances[i];
    return NULL;
}

static Device *device_of(void *handle) {
    void *table = table_of(handle);
    for (size_t i = 0; i < MOST_HANDLES; i++)
        if (devices[i].table == table) return &devices[i];
    return NULL;
}

static uint32_t number_of_gpu(VkPhysicalDevice handle) {
    for (size_t i = 0; i < MOST_HANDLES && gpus[i].original; i++)
        if (gpus[i].copy == handle) return gpus[i].number;
    return 0;
}

/* Returns a handle of the device that represents the GPU with this number. The layers below only
 * read the loader's record, so that a copy of it is a valid handle with a different address. */
static VkPhysicalDevice as_gpu(VkPhysicalDevice original, uint32_t number) {
    size_t free_place = MOST_HANDLES;
    for (size_t i = 0; i < MOST_HANDLES; i++) {
        if (!gpus[i].original) {
            free_place = i;
            break;
        }
        if (gpus[i].original == original && gpus[i].number == number) {
            memcpy(gpus[i].copy, original, malloc_usable_size(original));
            return gpus[i].copy;
        }
    }
    size_t size = malloc_usable_size(original);
    VkPhysicalDevice copy = free_place < MOST_HANDLES ? malloc(size) : NULL;
    if (!copy) return original;
    memcpy(copy, original, size);
    gpus[free_place] = (Gpu){.original = original, .copy = copy, .number = number};
    return copy;
}

/* --- Instances -------------------------------------------------------------------------------- */

static VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *info, const VkAllocationCallbacks *allocator,
                                                      VkInstance *instance) {
    VkLayerInstanceCreateInfo *link = (VkLayerInstanceCreateInfo *)info->pNext;
    while (link && !(link->sType == VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO && link->function == VK_LAYER_LINK_INFO))
        link = (VkLayerInstanceCreateInfo *)link->pNext;
    if (!link) return VK_ERROR_INITIALIZATION_FAILED;
    PFN_vkGetInstanceProcAddr next = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)next(VK_NULL_HANDLE, "vkCreateInstance");
    VkResult result = create(info, allocator, instance);
    if (result != VK_SUCCESS) return result;
#define FIND(name) (PFN_##name) next(*instance, #name)
    Instance found = {
        .table = table_of(*instance),
        .handle = *instance,
        .next = next,
        .destroy = FIND(vkDestroyInstance),
        .enumerate = FIND(vkEnumeratePhysicalDevices),
        .properties = FIND(vkGetPhysicalDeviceProperties),
        .properties2 = FIND(vkGetPhysicalDeviceProperties2),
        .features2 = FIND(vkGetPhysicalDeviceFeatures2),
        .memory = FIND(vkGetPhysicalDeviceMemoryProperties),
        .memory2 = FIND(vkGetPhysicalDeviceMemoryProperties2),
        .extensions = FIND(vkEnumerateDeviceExtensionProperties),
    };
    if (!found.properties2) found.properties2 = (PFN_vkGetPhysicalDeviceProperties2)next(*instance, "vkGetPhysicalDeviceProperties2KHR");
    if (!found.features2) found.features2 = (PFN_vkGetPhysicalDeviceFeatures2)next(*instance, "vkGetPhysicalDeviceFeatures2KHR");
    if (!found.memory2) found.memory2 = (PFN_vkGetPhysicalDeviceMemoryProperties2)next(*instance, "vkGetPhysicalDeviceMemoryProperties2KHR");
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < MOST_HANDLES; i++)
        if (!instances[i].table) {
            instances[i] = found;
            break;
        }
    pthread_mutex_unlock(&lock);
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance instance, const VkAllocationCallbacks *allocator) {
    if (!instance) return;
    pthread_mutex_lock(&lock);
    Instance *known = instance_of(instance);
    PFN_vkDestroyInstance destroy = known ? known->destroy : NULL;
    if (known) memset(known, 0, sizeof *known);
    pthread_mutex_unlock(&lock);
    if (destroy) destroy(instance, allocator);
}

static VKAPI_ATTR VkResult VKAPI_CALL enumerate_gpus(VkInstance instance, uint32_t *count, VkPhysicalDevice *handles) {
    Instance *known = instance_of(instance);
    VkPhysicalDevice originals[MOST_GPUS];
    uint32_t original_count = MOST_GPUS, copies = gpu_count();
    VkResult result = known->enumerate(instance, &original_count, originals);
    if (result < 0) return result;
    uint32_t all = original_count * copies;
    if (!handles) {
        *count = all;
        return VK_SUCCESS;
    }
    uint32_t given = *count < all ? *count : all;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < given; i++) handles[i] = as_gpu(originals[i / copies], i);
    pthread_mutex_unlock(&lock);
    *count = given;
    return given < all ? VK_INCOMPLETE : VK_SUCCESS;
}

static void disguise(VkPhysicalDevice handle, VkPhysicalDeviceProperties *properties) {
    properties->deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    memset(properties->deviceName, 0, sizeof properties->deviceName);
    strncpy(properties->deviceName, gpu_name(), sizeof properties->deviceName - 1);
    properties->deviceID += number_of_gpu(handle);
    uint32_t most = (uint32_t)number_of("FOREGLOW_RIG_INVOCATIONS", properties->limits.maxComputeWorkGroupInvocations);
    properties->limits.maxComputeWorkGroupInvocations = most;
    for (int i = 0; i < 3; i++)
        if (properties->limits.maxComputeWorkGroupSize[i] > most) properties->limits.maxComputeWorkGroupSize[i] = most;
}

static VKAPI_ATTR void VKAPI_CALL gpu_features2(VkPhysicalDevice handle, VkPhysicalDeviceFeatures2 *features) {
    instance_of(handle)->features2(handle, features);
    bool lacks_f16 = is_without("f16"), lacks_addresses = is_without("spirv");
    for (VkBaseOutStructure *part = features->pNext; part; part = part->pNext) {
        if (part->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES) {
            if (lacks_f16) ((VkPhysicalDeviceShaderFloat16Int8Features *)part)->shaderFloat16 = VK_FALSE;
        } else if (part->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES) {
            if (lacks_addresses) ((VkPhysicalDeviceBufferDeviceAddressFeatures *)part)->bufferDeviceAddress = VK_FALSE;
        } else if (part->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES) {
            VkPhysicalDeviceVulkan12Features *all = (VkPhysicalDeviceVulkan12Features *)part;
            if (lacks_f16) all->shaderFloat16 = VK_FALSE;
            if (lacks_addresses) all->bufferDeviceAddress = VK_FALSE;
        }
    }
}

static VKAPI_ATTR void VKAPI_CALL gpu_properties(VkPhysicalDevice handle, VkPhysicalDeviceProperties *properties) {
    instance_of(handle)->properties(handle, properties);
    disguise(handle, properties);
}

static VKAPI_ATTR void VKAPI_CALL gpu_properties2(VkPhysicalDevice handle, VkPhysicalDeviceProperties2 *properties) {
    instance_of(handle)->properties2(handle, properties);
    disguise(handle, &properties->properties);
    uint32_t number = number_of_gpu(handle);
    for (VkBaseOutStructure *part = properties->pNext; part; part = part->pNext) {
        if (part->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT) {
            VkPhysicalDevicePCIBusInfoPropertiesEXT *bus = (VkPhysicalDevicePCIBusInfoPropertiesEXT *)part;
            bus->pciDomain = 0xffff;
            bus->pciBus = 1 + number;
            bus->pciDevice = 0;
            bus->pciFunction = 0;
        } else if (part->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES) {
            ((VkPhysicalDeviceIDProperties *)part)->deviceUUID[0] ^= (uint8_t)number;
        }
    }
}

static void bound_heaps(VkPhysicalDeviceMemoryProperties *memory) {
    uint64_t bytes = memory_bytes();
    for (uint32_t i = 0; bytes && i < memory->memoryHeapCount; i++)
        if (memory->memoryHeaps[i].size > bytes) memory->memoryHeaps[i].size = bytes;
}

static VKAPI_ATTR void VKAPI_CALL gpu_memory(VkPhysicalDevice handle, VkPhysicalDeviceMemoryProperties *memory) {
    instance_of(handle)->memory(handle, memory);
    bound_heaps(memory);
}

static VKAPI_ATTR void VKAPI_CALL gpu_memory2(VkPhysicalDevice handle, VkPhysicalDeviceMemoryProperties2 *memory) {
    instance_of(handle)->memory2(handle, memory);
    bound_heaps(&memory->memoryProperties);
}

/* Lists the driver's extensions, and the one that reports PCI addresses. */
static VKAPI_ATTR VkResult VKAPI_CALL gpu_extensions(VkPhysicalDevice handle, const char *layer, uint32_t *count,
                                                     VkExtensionProperties *properties) {
    Instance *known = instance_of(handle);
    if (layer) return known->extensions(handle, layer, count, properties);
    uint32_t own = 0;
    VkResult result = known->extensions(handle, NULL, &own, NULL);
    if (result < 0) return result;
    if (!properties) {
        *count = own + 1;
        return VK_SUCCESS;
    }
    uint32_t room = *count, taken = room < own ? room : own;
    result = known->extensions(handle, NULL, &taken, properties);
    if (result < 0) return result;
    *count = taken;
    if (room <= own) return VK_INCOMPLETE;
    VkExtensionProperties bus = {.specVersion = VK_EXT_PCI_BUS_INFO_SPEC_VERSION};
    strcpy(bus.extensionName, VK_EXT_PCI_BUS_INFO_EXTENSION_NAME);
    properties[taken] = bus;
    *count = taken + 1;
    return VK_SUCCESS;
}

/* --- Devices ---------------------------------------------------------------------------------- */

static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice gpu, const VkDeviceCreateInfo *info,
                                                    const VkAllocationCallbacks *allocator, VkDevice *device) {
    VkLayerDeviceCreateInfo *link = (VkLayerDeviceCreateInfo *)info->pNext;
    while (link && !(link->sType == VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO && link->function == VK_LAYER_LINK_INFO))
        link = (VkLayerDeviceCreateInfo *)link->pNext;
    Instance *known = instance_of(gpu);
    if (!link || !known) return VK_ERROR_INITIALIZATION_FAILED;
    PFN_vkGetInstanceProcAddr next_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    PFN_vkGetDeviceProcAddr next = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    PFN_vkCreateDevice create = (PFN_vkCreateDevice)next_instance(known->handle, "vkCreateDevice");
    /* The driver does not know the extension that this layer adds. */
    VkDeviceCreateInfo passed = *info;
    const char **names = calloc(info->enabledExtensionCount + 1, sizeof *names);
    if (!names) return VK_ERROR_OUT_OF_HOST_MEMORY;
    passed.enabledExtensionCount = 0;
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++)
        if (strcmp(info->ppEnabledExtensionNames[i], VK_EXT_PCI_BUS_INFO_EXTENSION_NAME) != 0)
            names[passed.enabledExtensionCount++] = info->ppEnabledExtensionNames[i];
    passed.ppEnabledExtensionNames = names;
    VkResult result = create(gpu, &passed, allocator, device);
    free(names);
    if (result != VK_SUCCESS) return result;
    Device found = {
        .table = table_of(*device),
        .next = next,
        .destroy = (PFN_vkDestroyDevice)next(*device, "vkDestroyDevice"),
        .submit = (PFN_vkQueueSubmit)next(*device, "vkQueueSubmit"),
        .submit2 = (PFN_vkQueueSubmit2)next(*device, "vkQueueSubmit2"),
        .allocate = (PFN_vkAllocateMemory)next(*device, "vkAllocateMemory"),
        .free = (PFN_vkFreeMemory)next(*device, "vkFreeMemory"),
    };
    pthread_mutex_lock(&lock);
    found.number = number_of_gpu(gpu);
    for (size_t i = 0; i < MOST_HANDLES; i++)
        if (!devices[i].table) {
            devices[i] = found;
            break;
        }
    pthread_mutex_unlock(&lock);
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice device, const VkAllocationCallbacks *allocator) {
    if (!device) return;
    pthread_mutex_lock(&lock);
    Device *known = device_of(device);
    PFN_vkDestroyDevice destroy = known ? known->destroy : NULL;
    if (known) memset(known, 0, sizeof *known);
    pthread_mutex_unlock(&lock);
    if (destroy) destroy(device, allocator);
}

static VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue queue, uint32_t count, const VkSubmitInfo *batches, VkFence fence) {
    Device *known = device_of(queue);
    return is_lost(known->number) ? VK_ERROR_DEVICE_LOST : known->submit(queue, count, batches, fence);
}

static VKAPI_ATTR VkResult VKAPI_CALL submit2(VkQueue queue, uint32_t count, const VkSubmitInfo2 *batches, VkFence fence) {
    Device *known = device_of(queue);
    return is_lost(known->number) ? VK_ERROR_DEVICE_LOST : known->submit2(queue, count, batches, fence);
}

static VKAPI_ATTR VkResult VKAPI_CALL allocate_memory(VkDevice device, const VkMemoryAllocateInfo *info,
                                                      const VkAllocationCallbacks *allocator, VkDeviceMemory *memory) {
    uint64_t most = memory_bytes(), size = info->allocationSize;
    pthread_mutex_lock(&lock);
    Device *known = device_of(device);
    bool fits = !most || known->used + size <= most;
    if (fits) known->used += size;
    pthread_mutex_unlock(&lock);
    if (!fits) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    VkResult result = known->allocate(device, info, allocator, memory);
    pthread_mutex_lock(&lock);
    if (result == VK_SUCCESS && allocation_count == allocation_room) {
        allocation_room = allocation_room ? 2 * allocation_room : 64;
        allocations = realloc(allocations, allocation_room * sizeof *allocations);
        if (!allocations) abort();
    }
    if (result == VK_SUCCESS) {
        allocations[allocation_count++] = (Allocation){.handle = *memory, .table = known->table, .size = size};
    } else {
        known->used -= size;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

static VKAPI_ATTR void VKAPI_CALL free_memory(VkDevice device, VkDeviceMemory memory, const VkAllocationCallbacks *allocator) {
    pthread_mutex_lock(&lock);
    Device *known = device_of(device);
    for (size_t i = 0; i < allocation_count; i++)
        if (allocations[i].handle == memory && allocations[i].table == known->table) {
            known->used -= allocations[i].size;
            allocations[i] = allocations[--allocation_count];
            break;
        }
    pthread_mutex_unlock(&lock);
    known->free(device, memory, allocator);
}

/* --- Entry points for the loader -------------------------------------------------------------- */

static PFN_vkVoidFunction device_function(const char *name) {
#define IS(function, ours) if (strcmp(name, #function) == 0) return (PFN_vkVoidFunction)ours
    IS(vkDestroyDevice, destroy_device);
    IS(vkQueueSubmit, submit);
    IS(vkQueueSubmit2, submit2);
    IS(vkQueueSubmit2KHR, submit2);
    IS(vkAllocateMemory, allocate_memory);
    IS(vkFreeMemory, free_memory);
    return NULL;
}

EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL rig_GetDeviceProcAddr(VkDevice device, const char *name) {
    if (strcmp(name, "vkGetDeviceProcAddr") == 0) return (PFN_vkVoidFunction)rig_GetDeviceProcAddr;
    Device *known = device_of(device);
    PFN_vkVoidFunction below = known ? known->next(device, name) : NULL;
    PFN_vkVoidFunction ours = device_function(name);
    /* Returns NULL for a function that the driver lacks, even if this layer has it. */
    return below && ours ? ours : below;
}

EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL rig_GetInstanceProcAddr(VkInstance instance, const char *name) {
    IS(vkGetInstanceProcAddr, rig_GetInstanceProcAddr);
    IS(vkGetDeviceProcAddr, rig_GetDeviceProcAddr);
    IS(vkCreateInstance, create_instance);
    IS(vkDestroyInstance, destroy_instance);
    IS(vkEnumeratePhysicalDevices, enumerate_gpus);
    IS(vkGetPhysicalDeviceProperties, gpu_properties);
    IS(vkGetPhysicalDeviceProperties2, gpu_properties2);
    IS(vkGetPhysicalDeviceProperties2KHR, gpu_properties2);
    IS(vkGetPhysicalDeviceFeatures2, gpu_features2);
    IS(vkGetPhysicalDeviceFeatures2KHR, gpu_features2);
    IS(vkGetPhysicalDeviceMemoryProperties, gpu_memory);
    IS(vkGetPhysicalDeviceMemoryProperties2, gpu_memory2);
    IS(vkGetPhysicalDeviceMemoryProperties2KHR, gpu_memory2);
    IS(vkEnumerateDeviceExtensionProperties, gpu_extensions);
    IS(vkCreateDevice, create_device);
    PFN_vkVoidFunction ours = device_function(name);
    if (ours) return ours;
    Instance *known = instance ? instance_of(instance) : NULL;
    return known ? known->next(instance, name) : NULL;
}

EXPORT VKAPI_ATTR VkResult VKAPI_CALL vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *version) {
    if (version->loaderLayerInterfaceVersion > 2) version->loaderLayerInterfaceVersion = 2;
    version->pfnGetInstanceProcAddr = rig_GetInstanceProcAddr;
    version->pfnGetDeviceProcAddr = rig_GetDeviceProcAddr;
    version->pfnGetPhysicalDeviceProcAddr = NULL;
    return VK_SUCCESS;
}
