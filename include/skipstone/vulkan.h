/* Skipstone on a Vulkan device that the program has made itself: beside a renderer, on its queue or on a second one. Not included by
 * skipstone.h. It does not include Vulkan's headers: handles are those of vulkan.h, which may be included before or after, or not at all.
 *
 *   1. skipstone_vulkan_requirements() says which extensions and features to enable; make the device with them, and with your own.
 *   2. Fill a skipstone_vulkan_host and set skipstone_engine_params.vulkan to it.
 *   3. Free sessions and engines before the device. Nothing of yours is destroyed.
 */
#ifndef SKIPSTONE_VULKAN_H
#define SKIPSTONE_VULKAN_H

#include "skipstone/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct VkInstance_T;
struct VkPhysicalDevice_T;
struct VkDevice_T;
struct VkQueue_T;

/* PFN_vkGetInstanceProcAddr is to be cast to it. */
typedef void (*skipstone_vulkan_fn)(void);

typedef struct skipstone_vulkan_host {
  size_t struct_size;
  skipstone_vulkan_fn get_instance_proc_addr; /* NULL: that of the system's loader */
  struct VkInstance_T* instance;
  struct VkPhysicalDevice_T* physical_device;
  struct VkDevice_T* device;
  struct VkQueue_T* queue; /* of a family with compute; the only queue that is submitted to */
  uint32_t queue_family;
  uint32_t api_version; /* of the VkApplicationInfo that the instance was made with, at least Vulkan 1.2; 0: Vulkan 1.2 */
  /* The enabled ones of the names that skipstone_vulkan_requirements() gives; others do not matter, and what is not here is not used.
   * VK_EXT_debug_utils among the extensions: buffers, pipelines and dispatches get names for debuggers. */
  const char* const* extensions;
  size_t extension_count;
  /* Features by their names, or by the structures that they were enabled with, or both: feature_chain is the VkDeviceCreateInfo::pNext
   * that the device was made with, and may be NULL. */
  const char* const* features;
  size_t feature_count;
  const void* feature_chain;
  /* Called around each submission and never one within the other, from the threads that load the model and use its sessions. While it
   * holds the lock the library calls nothing of yours but `unlock`. Both NULL: the queue is this engine's alone. */
  void (*lock)(void* user_data);
  void (*unlock)(void* user_data);
  void* user_data;
} skipstone_vulkan_host;

SKIPSTONE_API void skipstone_vulkan_host_init(skipstone_vulkan_host* host, size_t struct_size);

/* Requirements of the instance and the device. Arrays hold first what is needed, then what makes models faster; all of it belongs to the
 * struct, until skipstone_vulkan_needs_free(). */
typedef struct skipstone_vulkan_needs {
  size_t struct_size;    /* set by the caller: sizeof(skipstone_vulkan_needs) */
  uint32_t api_version;  /* the least for VkApplicationInfo, as VK_MAKE_API_VERSION packs it */
  uint32_t queue_family; /* one with compute: without graphics if one exists. Any with compute will do */
  const char* const* instance_extensions;
  size_t instance_extension_count, needed_instance_extensions;
  const char* const* device_extensions;
  size_t device_extension_count, needed_device_extensions;
  const char* const* features;
  size_t feature_count, needed_features;
  /* A VkPhysicalDeviceFeatures2 for VkDeviceCreateInfo::pNext that enables all of `features` and nothing else; structures of your own go
   * before it. Where you have one of its structures yourself, set the members that `features` names there instead. */
  const void* feature_chain;
  /* {"api_version": "1.2", "queue_family", "instance_extensions": [{"name", "needed"}], "device_extensions": [{"name", "needed"}],
   * "features": [{"name", "structure", "needed"}], "unsuitable": why the device cannot run models, or ""} */
  const char* json;
  void* memory; /* the library's */
} skipstone_vulkan_needs;

/* Of `host` only get_instance_proc_addr, instance, physical_device and api_version are looked at; without an instance only
 * instance_extensions and api_version are filled. SKIPSTONE_NO_DEVICE without Vulkan 1.2. */
SKIPSTONE_API skipstone_status skipstone_vulkan_requirements(const skipstone_vulkan_host* host, skipstone_vulkan_needs* needs);

/* Frees what the arrays hold, not the struct. NULL and a struct that was never filled but zeroed are fine. */
SKIPSTONE_API void skipstone_vulkan_needs_free(skipstone_vulkan_needs* needs);

#ifdef __cplusplus
}
#endif

#endif
