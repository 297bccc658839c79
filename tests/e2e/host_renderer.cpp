#include "host_renderer.h"

#include <cstdio>
#include <cstring>

namespace skipstone::engine {
namespace {

const std::uint32_t vertex_spirv[] = {
#include "triangle_vert.inc"
};
const std::uint32_t fragment_spirv[] = {
#include "triangle_frag.inc"
};

constexpr const char* layer = "VK_LAYER_KHRONOS_validation";

template <typename Structure>
Structure make(VkStructureType type) {
  Structure structure{};
  structure.sType = type;
  return structure;
}

bool layer_is_there() {
  std::uint32_t count = 0;
  check(vkEnumerateInstanceLayerProperties(&count, nullptr), "vkEnumerateInstanceLayerProperties");
  std::vector<VkLayerProperties> layers(count);
  check(vkEnumerateInstanceLayerProperties(&count, layers.data()), "vkEnumerateInstanceLayerProperties");
  for (const VkLayerProperties& properties : layers) {
    if (std::strcmp(properties.layerName, layer) == 0) return true;
  }
  return false;
}

VKAPI_ATTR VkBool32 VKAPI_CALL count_message(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                             const VkDebugUtilsMessengerCallbackDataEXT* data, void* count) {
  ++*static_cast<std::atomic<std::uint64_t>*>(count);
  std::fprintf(stderr, "validation: %s\n", data->pMessage);
  return VK_FALSE;
}

VkShaderModule module_of(VkDevice device, const std::uint32_t* words, std::size_t bytes) {
  auto info = make<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  info.codeSize = bytes;
  info.pCode = words;
  VkShaderModule module = VK_NULL_HANDLE;
  check(vkCreateShaderModule(device, &info, nullptr, &module), "vkCreateShaderModule");
  return module;
}

}  // namespace

Host::Host(bool all) {
  make_instance();
  make_device(all);
}

void Host::make_instance() {
  auto application = make<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
  application.apiVersion = VK_API_VERSION_1_3;
  auto info = make<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
  info.pApplicationInfo = &application;
  const VkValidationFeatureEnableEXT synchronization = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  auto validation = make<VkValidationFeaturesEXT>(VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT);
  validation.enabledValidationFeatureCount = 1;
  validation.pEnabledValidationFeatures = &synchronization;
  auto messenger = make<VkDebugUtilsMessengerCreateInfoEXT>(VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT);
  messenger.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  messenger.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
  messenger.pfnUserCallback = count_message;
  messenger.pUserData = &messages_;
  messenger.pNext = &validation;
  const char* extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
  const bool validated = layer_is_there();
  if (validated) {
    info.pNext = &messenger;
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &layer;
    info.enabledExtensionCount = 2;
    info.ppEnabledExtensionNames = extensions;
    extensions_.emplace_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
  }
  check(vkCreateInstance(&info, nullptr, &instance_), "vkCreateInstance");
  if (!validated) return;
  messenger.pNext = nullptr;
  const auto create =
      reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(vkGetInstanceProcAddr(instance_, "vkCreateDebugUtilsMessengerEXT"));
  check(create(instance_, &messenger, nullptr, &messenger_), "vkCreateDebugUtilsMessengerEXT");
}

void Host::make_device(bool all) {
  std::uint32_t count = 1;
  if (const VkResult result = vkEnumeratePhysicalDevices(instance_, &count, &physical_); result != VK_INCOMPLETE)
    check(result, "vkEnumeratePhysicalDevices");
  const vk::Requirements required =
      vk::requirements(reinterpret_cast<void (*)()>(vkGetInstanceProcAddr), instance_, physical_, VK_API_VERSION_1_3);
  if (!required.unsuitable.empty()) throw std::runtime_error(required.unsuitable);
  std::vector<const char*> extensions;
  for (const vk::Requirement& extension : required.device_extensions) {
    if (!all && !extension.needed) continue;
    extensions.push_back(extension.name.c_str());
    extensions_.push_back(extension.name);
  }
  // The renderer's own, before those of the model.
  auto rendering = make<VkPhysicalDeviceDynamicRenderingFeatures>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DYNAMIC_RENDERING_FEATURES);
  rendering.dynamicRendering = VK_TRUE;
  auto timeline = make<VkPhysicalDeviceTimelineSemaphoreFeatures>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES);
  timeline.timelineSemaphore = VK_TRUE;
  rendering.pNext = all ? const_cast<void*>(required.feature_chain.get()) : &timeline;
  features_ = vk::enabled_features(&rendering);
  // A family that draws and computes, which need not be the one that a device without a renderer would take.
  std::uint32_t families = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(physical_, &families, nullptr);
  std::vector<VkQueueFamilyProperties> properties(families);
  vkGetPhysicalDeviceQueueFamilyProperties(physical_, &families, properties.data());
  constexpr VkQueueFlags wanted = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
  while (family_ < families && (properties[family_].queueFlags & wanted) != wanted) ++family_;
  if (family_ == families) throw std::runtime_error("the device cannot draw");

  const float priority = 1.0f;
  auto queue = make<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  queue.queueFamilyIndex = family_;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  auto info = make<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  info.pNext = &rendering;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  check(vkCreateDevice(physical_, &info, nullptr, &device_), "vkCreateDevice");
  vkGetDeviceQueue(device_, family_, 0, &queue_);
}

vk::HostDevice Host::shared() {
  vk::HostDevice host;
  host.get_instance_proc_addr = reinterpret_cast<void (*)()>(vkGetInstanceProcAddr);
  host.instance = instance_;
  host.physical_device = physical_;
  host.device = device_;
  host.queue = queue_;
  host.queue_family = family_;
  host.api_version = VK_API_VERSION_1_3;
  host.extensions = extensions_;
  host.features = features_;
  host.lock = [this] {
    mutex_.lock();
    ++locks_;
  };
  host.unlock = [this] { mutex_.unlock(); };
  return host;
}

void Host::submit(VkCommandBuffer commands, VkFence fence) {
  auto info = make<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  const std::lock_guard lock(mutex_);
  check(vkQueueSubmit(queue_, 1, &info, fence), "vkQueueSubmit");
}

Host::~Host() {
  vkDestroyDevice(device_, nullptr);
  if (messenger_ != VK_NULL_HANDLE) {
    reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(vkGetInstanceProcAddr(instance_, "vkDestroyDebugUtilsMessengerEXT"))(
        instance_, messenger_, nullptr);
  }
  vkDestroyInstance(instance_, nullptr);
}

Renderer::Renderer(Host& host) : host_(host) {
  make_target();
  make_pipeline();
  record();
}

VkDeviceMemory Renderer::allocate(const VkMemoryRequirements& needs, VkMemoryPropertyFlags flags) const {
  VkPhysicalDeviceMemoryProperties memory{};
  vkGetPhysicalDeviceMemoryProperties(host_.physical(), &memory);
  auto info = make<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  info.allocationSize = needs.size;
  while ((needs.memoryTypeBits >> info.memoryTypeIndex & 1) == 0 ||
         (memory.memoryTypes[info.memoryTypeIndex].propertyFlags & flags) != flags)
    ++info.memoryTypeIndex;
  VkDeviceMemory allocated = VK_NULL_HANDLE;
  check(vkAllocateMemory(host_.device(), &info, nullptr, &allocated), "vkAllocateMemory");
  return allocated;
}

void Renderer::make_target() {
  const VkDevice device = host_.device();
  auto image = make<VkImageCreateInfo>(VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO);
  image.imageType = VK_IMAGE_TYPE_2D;
  image.format = VK_FORMAT_R8G8B8A8_UNORM;
  image.extent = {edge, edge, 1};
  image.mipLevels = image.arrayLayers = 1;
  image.samples = VK_SAMPLE_COUNT_1_BIT;
  image.usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
  check(vkCreateImage(device, &image, nullptr, &image_), "vkCreateImage");
  VkMemoryRequirements needs{};
  vkGetImageMemoryRequirements(device, image_, &needs);
  image_memory_ = allocate(needs, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
  check(vkBindImageMemory(device, image_, image_memory_, 0), "vkBindImageMemory");
  auto view = make<VkImageViewCreateInfo>(VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO);
  view.image = image_;
  view.viewType = VK_IMAGE_VIEW_TYPE_2D;
  view.format = image.format;
  view.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
  check(vkCreateImageView(device, &view, nullptr, &view_), "vkCreateImageView");

  auto buffer = make<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  buffer.size = 4 * edge * edge;
  buffer.usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  check(vkCreateBuffer(device, &buffer, nullptr, &pixels_), "vkCreateBuffer");
  vkGetBufferMemoryRequirements(device, pixels_, &needs);
  pixel_memory_ = allocate(needs, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
  check(vkBindBufferMemory(device, pixels_, pixel_memory_, 0), "vkBindBufferMemory");
  void* mapped = nullptr;
  check(vkMapMemory(device, pixel_memory_, 0, VK_WHOLE_SIZE, 0, &mapped), "vkMapMemory");
  mapped_ = static_cast<const std::uint32_t*>(mapped);
}

void Renderer::make_pipeline() {
  const VkDevice device = host_.device();
  const auto layout = make<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
  check(vkCreatePipelineLayout(device, &layout, nullptr, &layout_), "vkCreatePipelineLayout");
  VkPipelineShaderStageCreateInfo stages[2] = {make<VkPipelineShaderStageCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO),
                                               make<VkPipelineShaderStageCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO)};
  stages[0].stage = VK_SHADER_STAGE_VERTEX_BIT;
  stages[0].module = module_of(device, vertex_spirv, sizeof vertex_spirv);
  stages[1].stage = VK_SHADER_STAGE_FRAGMENT_BIT;
  stages[1].module = module_of(device, fragment_spirv, sizeof fragment_spirv);
  stages[0].pName = stages[1].pName = "main";
  const auto vertices = make<VkPipelineVertexInputStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO);
  auto assembly = make<VkPipelineInputAssemblyStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO);
  assembly.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
  const VkViewport all{0, 0, edge, edge, 0, 1};
  const VkRect2D scissor{{0, 0}, {edge, edge}};
  auto viewport = make<VkPipelineViewportStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO);
  viewport.viewportCount = viewport.scissorCount = 1;
  viewport.pViewports = &all;
  viewport.pScissors = &scissor;
  auto raster = make<VkPipelineRasterizationStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO);
  raster.lineWidth = 1;
  auto samples = make<VkPipelineMultisampleStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO);
  samples.rasterizationSamples = VK_SAMPLE_COUNT_1_BIT;
  VkPipelineColorBlendAttachmentState attachment{};
  attachment.colorWriteMask = 0xf;
  auto blend = make<VkPipelineColorBlendStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO);
  blend.attachmentCount = 1;
  blend.pAttachments = &attachment;
  const VkFormat format = VK_FORMAT_R8G8B8A8_UNORM;
  auto rendering = make<VkPipelineRenderingCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO);
  rendering.colorAttachmentCount = 1;
  rendering.pColorAttachmentFormats = &format;
  auto info = make<VkGraphicsPipelineCreateInfo>(VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO);
  info.pNext = &rendering;
  info.stageCount = 2;
  info.pStages = stages;
  info.pVertexInputState = &vertices;
  info.pInputAssemblyState = &assembly;
  info.pViewportState = &viewport;
  info.pRasterizationState = &raster;
  info.pMultisampleState = &samples;
  info.pColorBlendState = &blend;
  info.layout = layout_;
  check(vkCreateGraphicsPipelines(device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline_), "vkCreateGraphicsPipelines");
  for (const auto& stage : stages) vkDestroyShaderModule(device, stage.module, nullptr);
}

void Renderer::record() {
  const VkDevice device = host_.device();
  auto pool = make<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  pool.queueFamilyIndex = host_.family();
  check(vkCreateCommandPool(device, &pool, nullptr, &pool_), "vkCreateCommandPool");
  auto allocation = make<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
  allocation.commandPool = pool_;
  allocation.commandBufferCount = 1;
  check(vkAllocateCommandBuffers(device, &allocation, &commands_), "vkAllocateCommandBuffers");
  const auto fence = make<VkFenceCreateInfo>(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
  check(vkCreateFence(device, &fence, nullptr, &fence_), "vkCreateFence");

  const auto begin = make<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  check(vkBeginCommandBuffer(commands_, &begin), "vkBeginCommandBuffer");
  auto barrier = make<VkImageMemoryBarrier>(VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER);
  barrier.image = image_;
  barrier.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
  barrier.dstAccessMask = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT;
  barrier.newLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL;
  vkCmdPipelineBarrier(commands_, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT, 0, 0, nullptr, 0, nullptr,
                       1, &barrier);
  auto target = make<VkRenderingAttachmentInfo>(VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO);
  target.imageView = view_;
  target.imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL;
  target.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
  target.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
  target.clearValue.color.float32[2] = target.clearValue.color.float32[3] = 1.0f;
  auto rendering = make<VkRenderingInfo>(VK_STRUCTURE_TYPE_RENDERING_INFO);
  rendering.renderArea = {{0, 0}, {edge, edge}};
  rendering.layerCount = rendering.colorAttachmentCount = 1;
  rendering.pColorAttachments = &target;
  vkCmdBeginRendering(commands_, &rendering);
  vkCmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline_);
  vkCmdDraw(commands_, 3, 1, 0, 0);
  vkCmdEndRendering(commands_);
  barrier.srcAccessMask = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT;
  barrier.oldLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL;
  barrier.newLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
  vkCmdPipelineBarrier(commands_, VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, nullptr, 0, nullptr,
                       1, &barrier);
  VkBufferImageCopy copy{};
  copy.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
  copy.imageExtent = {edge, edge, 1};
  vkCmdCopyImageToBuffer(commands_, image_, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, pixels_, 1, &copy);
  auto written = make<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  written.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
  written.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
  vkCmdPipelineBarrier(commands_, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &written, 0, nullptr, 0, nullptr);
  check(vkEndCommandBuffer(commands_), "vkEndCommandBuffer");
}

bool Renderer::frame() {
  const VkDevice device = host_.device();
  check(vkResetFences(device, 1, &fence_), "vkResetFences");
  host_.submit(commands_, fence_);
  check(vkWaitForFences(device, 1, &fence_, VK_TRUE, UINT64_MAX), "vkWaitForFences");
  constexpr std::uint32_t blue = 0xffff0000, orange = 0xff007f00 | 0xff, orange_up = 0xff008000 | 0xff;
  const std::uint32_t corner = mapped_[0], middle = mapped_[edge * edge / 2 + edge / 2];
  return corner == blue && (middle == orange || middle == orange_up);
}

Renderer::~Renderer() {
  const VkDevice device = host_.device();
  vkDestroyFence(device, fence_, nullptr);
  vkDestroyCommandPool(device, pool_, nullptr);
  vkDestroyPipeline(device, pipeline_, nullptr);
  vkDestroyPipelineLayout(device, layout_, nullptr);
  vkDestroyImageView(device, view_, nullptr);
  vkDestroyImage(device, image_, nullptr);
  vkDestroyBuffer(device, pixels_, nullptr);
  vkFreeMemory(device, image_memory_, nullptr);
  vkFreeMemory(device, pixel_memory_, nullptr);
}

}  // namespace skipstone::engine
