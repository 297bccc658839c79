// What the program says where the driver fails, and its exit codes.
#include "e2e/program.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"

namespace skipstone::faults {
namespace {

struct Case {
  const char* failure;  ///< CALL:NUMBER:CHOICE, as SKIPSTONE_STUB_FAIL takes it; the choices are in the stub's sources
  int code;
};

const Case cases[] = {
    {"vkCreateDevice:1:0", 5},  // VK_ERROR_OUT_OF_HOST_MEMORY
    {"vkCreateDevice:1:2", 4},  // VK_ERROR_INITIALIZATION_FAILED
    {"vkCreateDevice:1:3", 5},  // VK_ERROR_TOO_MANY_OBJECTS
    {"vkCreateDevice:1:4", 6},  // VK_ERROR_DEVICE_LOST
    {"vkCreateBuffer:1:0", 0},  // a smaller block is tried
    {"vkBindBufferMemory:1:1", 5},
    {"vkMapMemory:1:0", 5},
    {"vkMapMemory:1:2", 5},  // VK_ERROR_MEMORY_MAP_FAILED
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
    {"vkGetPipelineCacheData:1:0", 0},  // only the next start is slower
    {"vkCreatePipelineCache:1:0", 0},   // the same
};

/// Eight tokens of `model` on the stub driver. `failure`: SKIPSTONE_STUB_FAIL.
e2e::Result run_on_stub(const fixtures::TemporaryDirectory& folder, const std::string& model, const std::string& failure,
                        const std::vector<std::string>& options = {}) {
  e2e::Command command{.arguments = {"run", "-m", model, "-p", "the and", "-n", "8"}};
  command.arguments.insert(command.arguments.end(), options.begin(), options.end());
  command.environment = {{"VK_ICD_FILENAMES", SKIPSTONE_STUB_MANIFEST},       {"VK_DRIVER_FILES", SKIPSTONE_STUB_MANIFEST},
                         {"VK_LOADER_LAYERS_DISABLE", "~implicit~"},          {"NODEVICE_SELECT", "1"},
                         {"SKIPSTONE_CACHE", folder.file("cache" + failure)}, {"SKIPSTONE_STUB_FAIL", failure}};
  return e2e::run(command);
}

void expect_one_sentence(const e2e::Result& result, const std::string& failure) {
  EXPECT_EQ(result.error.rfind("error: ", 0), 0u) << failure << ": " << result.error;
  EXPECT_EQ(result.error.find('\n'), result.error.size() - 1) << failure << " is not one sentence: " << result.error;
}

TEST(Program, SaysWhatTheDriverDid) {
  const fixtures::TemporaryDirectory folder;
  const std::string model = folder.file("tiny.gguf");
  fixtures::write_tiny_model({.layers = 2, .dim = 32, .heads = 2, .kv_heads = 1, .ffn = 64, .context = 64}, model);
  const auto run = [&](const std::string& failure) { return run_on_stub(folder, model, failure); };
  const e2e::Result expected = run("0");
  ASSERT_EQ(expected.code, 0) << expected.error;
  for (const Case& each : cases) {
    const e2e::Result result = run(each.failure);
    EXPECT_EQ(result.code, each.code) << each.failure << ": " << result.error;
    if (result.code == 0) {
      EXPECT_EQ(result.out, expected.out) << each.failure;
    } else {
      expect_one_sentence(result, each.failure);
    }
  }
}

// A stack of experts is larger than the first block of its arena, so there is no smaller one to be tried.
TEST(Program, SaysThatTheHostHasNoMemoryForExperts) {
  const fixtures::TemporaryDirectory folder;
  const std::string model = folder.file("experts.gguf");
  fixtures::TinyConfig config = fixtures::tiny_family("qwen3moe");
  config.layers = 1;
  config.dim = 256;
  config.experts = 150;
  fixtures::write_tiny_model(config, model);
  std::size_t refused = 0;
  for (int allocation = 1; allocation <= 6; ++allocation) {
    const std::string failure = "vkAllocateMemory:" + std::to_string(allocation) + ":1";  // VK_ERROR_OUT_OF_DEVICE_MEMORY
    const e2e::Result result = run_on_stub(folder, model, failure, {"--experts-on-host", "1"});
    if (result.error.find("MiB for weights in host memory") == std::string::npos) continue;
    ++refused;
    EXPECT_EQ(result.code, 5) << failure << ": " << result.error;
    expect_one_sentence(result, failure);
  }
  EXPECT_EQ(refused, 3u) << "gate, up and down";
}

}  // namespace
}  // namespace skipstone::faults
