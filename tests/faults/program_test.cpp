// What the program says where the driver fails, and its exit codes.
#include <gtest/gtest.h>

#include <string>

#include "e2e/program.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"

namespace skipstone::faults {
namespace {

struct Case {
  const char* failure;  ///< CALL:NUMBER:CHOICE, as SKIPSTONE_STUB_FAIL takes it; the choices are in the stub's sources
  int code;
};

const Case cases[] = {
    {"vkCreateDevice:1:0", 5},       // VK_ERROR_OUT_OF_HOST_MEMORY
    {"vkCreateDevice:1:2", 4},       // VK_ERROR_INITIALIZATION_FAILED
    {"vkCreateDevice:1:3", 5},       // VK_ERROR_TOO_MANY_OBJECTS
    {"vkCreateDevice:1:4", 6},       // VK_ERROR_DEVICE_LOST
    {"vkCreateBuffer:1:0", 0},       // a smaller block is tried
    {"vkBindBufferMemory:1:1", 5},
    {"vkMapMemory:1:0", 5},
    {"vkMapMemory:1:2", 5},          // VK_ERROR_MEMORY_MAP_FAILED
    {"vkCreateSemaphore:1:0", 5},
    {"vkCreateCommandPool:1:0", 5},
    {"vkAllocateCommandBuffers:1:0", 5},
    {"vkBeginCommandBuffer:1:0", 5},
    {"vkEndCommandBuffer:1:1", 5},
    {"vkCreateDescriptorPool:1:2", 5},    // VK_ERROR_FRAGMENTATION
    {"vkAllocateDescriptorSets:1:2", 5},  // VK_ERROR_FRAGMENTED_POOL
    {"vkAllocateDescriptorSets:1:3", 5},  // VK_ERROR_OUT_OF_POOL_MEMORY
    {"vkCreateFence:1:0", 5},
    {"vkQueueSubmit:1:0", 5},
    {"vkQueueSubmit:1:2", 6},
    {"vkQueueSubmit:9:2", 6},
    {"vkWaitSemaphores:1:1", 5},
    {"vkWaitSemaphores:1:2", 6},
    {"vkWaitForFences:1:2", 6},
    {"vkGetPipelineCacheData:1:0", 0},    // only the next start is slower
    {"vkCreatePipelineCache:1:0", 0},     // the same
};

TEST(Program, SaysWhatTheDriverDid) {
  const fixtures::TemporaryDirectory folder;
  const std::string model = folder.file("tiny.gguf");
  fixtures::write_tiny_model({.layers = 2, .dim = 32, .heads = 2, .kv_heads = 1, .ffn = 64, .context = 64}, model);
  const auto run = [&](const std::string& failure) {
    e2e::Command command{.arguments = {"run", "-m", model, "-p", "the and", "-n", "8"}};
    command.environment = {{"VK_ICD_FILENAMES", SKIPSTONE_STUB_MANIFEST},
                           {"VK_DRIVER_FILES", SKIPSTONE_STUB_MANIFEST},
                           {"VK_LOADER_LAYERS_DISABLE", "~implicit~"},
                           {"NODEVICE_SELECT", "1"},
                           {"SKIPSTONE_CACHE", folder.file("cache" + failure)},
                           {"SKIPSTONE_STUB_FAIL", failure}};
    return e2e::run(command);
  };
  const e2e::Result expected = run("0");
  ASSERT_EQ(expected.code, 0) << expected.error;
  for (const Case& each : cases) {
    const e2e::Result result = run(each.failure);
    EXPECT_EQ(result.code, each.code) << each.failure << ": " << result.error;
    if (result.code == 0) {
      EXPECT_EQ(result.out, expected.out) << each.failure;
    } else {
      EXPECT_EQ(result.error.rfind("error: ", 0), 0u) << each.failure << ": " << result.error;
      EXPECT_EQ(result.error.find('\n'), result.error.size() - 1) << each.failure << " is not one sentence: " << result.error;
    }
  }
}

}  // namespace
}  // namespace skipstone::faults
