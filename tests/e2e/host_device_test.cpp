// An engine on the device of a program that renders: the text is that of an engine with a device of its own, frames continue meanwhile, and
// the validation layer has nothing to say, also when the host destroys what is its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/engine.h"
#include "engine/engine_state.h"
#include "fixtures/failure.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "host_renderer.h"
#include "skipstone/skipstone.h"
#include "skipstone/vulkan.h"

namespace skipstone::engine {
namespace {

class HostDevice : public testing::Test {
 protected:
  HostDevice() {
    fixtures::TinyConfig config;
    config.layers = 4;
    config.tied = false;
    config.type = gguf::Type::q4_0;
    fixtures::write_tiny_model(config, file_);
  }

  EngineOptions options(Host* host) const {
    EngineOptions options;
    options.model_path = file_;
    if (host != nullptr) options.host = host->shared();
    return options;
  }

  /// Some 100 tokens with drafts in one submission with their verification, and with a sampler.
  static std::vector<text::Token> texts(const std::shared_ptr<Engine>& engine) {
    std::vector<text::Token> all;
    for (const float temperature : {0.0f, 0.8f}) {
      SessionOptions how;
      how.draft = "exit:2,k=4";
      how.sampling.temperature = temperature;
      const auto tokens = Session(engine, how).generate(engine->tokenizer().encode("the quick brown fox", true, false), 50, {}).tokens;
      all.insert(all.end(), tokens.begin(), tokens.end());
    }
    return all;
  }

  fixtures::TemporaryDirectory directory_;
  std::string file_ = directory_.file("tiny.gguf");
};

TEST_F(HostDevice, WritesTheSameTextBesideARenderer) {
  const std::vector<text::Token> expected = texts(Engine::load(options(nullptr)));
  ASSERT_GT(expected.size(), 20u);
  for (const bool all : {true, false}) {
    SCOPED_TRACE(all ? "all that requirements() lists" : "what is needed alone");
    const std::uint64_t before = Host::messages();
    {
      Host host(all);
      Renderer renderer(host);
      ASSERT_TRUE(renderer.frame());
      std::uint64_t frames = 0, wrong = 0;
      {
        std::jthread frame_loop([&](const std::stop_token& stop) {
          for (; !stop.stop_requested(); ++frames) wrong += renderer.frame() ? 0 : 1;
        });
        const auto engine = Engine::load(options(&host));
        EXPECT_EQ(texts(engine), expected);
        EXPECT_EQ(engine->device().fp16, all && Engine::load(options(nullptr))->device().fp16);
        EXPECT_EQ(engine->device().extensions.empty(), !all);
      }
      EXPECT_GT(frames, 10u);
      EXPECT_EQ(wrong, 0u);
      EXPECT_GT(host.locks(), 50u);
      EXPECT_TRUE(renderer.frame());  // the device is as it was
    }
    EXPECT_EQ(Host::messages(), before);
  }
}

TEST_F(HostDevice, IsUsedByTwoEnginesAndThreadsAtOnce) {
  const std::vector<text::Token> expected = texts(Engine::load(options(nullptr)));
  const std::uint64_t before = Host::messages();
  {
    Host host(true);
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 2; ++thread) threads.emplace_back([&] { EXPECT_EQ(texts(Engine::load(options(&host))), expected); });
  }
  EXPECT_EQ(Host::messages(), before);
}

TEST_F(HostDevice, ThatCannotBeUsedIsRefused) {
  Host host(true);
  vk::HostDevice shared = host.shared();
  const auto code = [&](auto&& change) {
    EngineOptions wrong = options(&host);
    change(*wrong.host);
    return fixtures::failure_of([&] { Engine::load(wrong); }).code;
  };
  EXPECT_EQ(code([](vk::HostDevice& h) { std::erase(h.features, "timelineSemaphore"); }), Code::unsupported);
  EXPECT_EQ(code([](vk::HostDevice& h) { h.api_version = VK_API_VERSION_1_1; }), Code::unsupported);
  EXPECT_EQ(code([](vk::HostDevice& h) { h.queue_family = 99; }), Code::invalid_argument);
  EXPECT_EQ(code([](vk::HostDevice& h) { h.unlock = {}; }), Code::invalid_argument);
  for (void* vk::HostDevice::*handle :
       {&vk::HostDevice::instance, &vk::HostDevice::physical_device, &vk::HostDevice::device, &vk::HostDevice::queue}) {
    EXPECT_EQ(code([&](vk::HostDevice& h) { h.*handle = nullptr; }), Code::invalid_argument);
  }
}

TEST_F(HostDevice, RequirementsAreNamedAndChained) {
  Host host(true);
  const vk::HostDevice shared = host.shared();
  const vk::Requirements required = vk::requirements(shared.get_instance_proc_addr, shared.instance, shared.physical_device, 0);
  EXPECT_EQ(required.api_version, VK_API_VERSION_1_2);
  EXPECT_EQ(required.unsuitable, "");
  std::vector<std::string> names, needed;
  for (const vk::Requirement& feature : required.features) {
    names.push_back(feature.name);
    if (feature.needed) needed.push_back(feature.name);
    EXPECT_TRUE(feature.structure.starts_with("VkPhysicalDevice")) << feature.structure;
  }
  EXPECT_EQ(needed, std::vector<std::string>{"timelineSemaphore"});
  EXPECT_EQ(vk::enabled_features(required.feature_chain.get()), names);
  EXPECT_EQ(static_cast<const VkPhysicalDeviceFeatures2*>(required.feature_chain.get())->sType,
            VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  // Without an instance there is its part alone.
  const vk::Requirements before = vk::requirements(nullptr, nullptr, nullptr);
  EXPECT_TRUE(before.device_extensions.empty() && before.features.empty() && before.feature_chain == nullptr);
  EXPECT_EQ(fixtures::failure_of([&] { vk::requirements(nullptr, nullptr, shared.physical_device); }).code, Code::invalid_argument);
}

/// The tokens that an engine with these parameters appends to a text; empty where a call fails.
std::vector<skipstone_token> text_of(const skipstone_engine_params& params) {
  skipstone_engine* engine = nullptr;
  skipstone_session* session = nullptr;
  EXPECT_EQ(skipstone_engine_load(&params, &engine), SKIPSTONE_OK) << skipstone_last_error();
  if (engine == nullptr) return {};
  std::vector<skipstone_token> prompt(64), tokens;
  std::size_t count = 0;
  EXPECT_EQ(skipstone_tokenize(engine, "the quick", 9, 1, 0, prompt.data(), prompt.size(), &count), SKIPSTONE_OK);
  skipstone_session_params how;
  skipstone_session_params_init(&how, sizeof(how));
  EXPECT_EQ(skipstone_session_create(engine, &how, &session), SKIPSTONE_OK) << skipstone_last_error();
  const auto keep = [](const skipstone_chunk* chunk, void* into) {
    static_cast<std::vector<skipstone_token>*>(into)->push_back(chunk->token);
    return 0;
  };
  EXPECT_EQ(skipstone_session_generate(session, prompt.data(), count, 20, keep, &tokens), SKIPSTONE_OK) << skipstone_last_error();
  skipstone_session_free(session);
  skipstone_engine_free(engine);
  return tokens;
}

TEST_F(HostDevice, IsGivenThroughTheCApi) {
  skipstone_engine_params params;
  skipstone_engine_params_init(&params, sizeof(params));
  params.model_path = file_.c_str();
  const std::vector<skipstone_token> expected = text_of(params);
  const std::uint64_t before = Host::messages();
  {
    Host host(true);
    const vk::HostDevice shared = host.shared();
    skipstone_vulkan_host given;
    skipstone_vulkan_host_init(&given, sizeof(given));
    given.get_instance_proc_addr = shared.get_instance_proc_addr;
    given.instance = static_cast<VkInstance>(shared.instance);
    given.physical_device = static_cast<VkPhysicalDevice>(shared.physical_device);
    given.api_version = shared.api_version;
    skipstone_vulkan_needs needs{};
    needs.struct_size = sizeof(needs);
    ASSERT_EQ(skipstone_vulkan_requirements(&given, &needs), SKIPSTONE_OK) << skipstone_last_error();
    EXPECT_EQ(needs.api_version, VK_API_VERSION_1_2);
    ASSERT_EQ(needs.needed_features, 1u);
    EXPECT_STREQ(needs.features[0], "timelineSemaphore");
    EXPECT_GE(needs.feature_count, needs.needed_features);
    EXPECT_EQ(needs.needed_device_extensions, 0u);
    EXPECT_NE(std::string(needs.json).find("\"structure\": \"VkPhysicalDeviceVulkan12Features\""), std::string::npos) << needs.json;

    given.device = static_cast<VkDevice>(shared.device);
    given.queue = static_cast<VkQueue>(shared.queue);
    given.queue_family = shared.queue_family;
    given.extensions = needs.device_extensions;
    given.extension_count = needs.device_extension_count;
    std::mutex mutex;
    given.user_data = &mutex;
    given.lock = [](void* lock) { static_cast<std::mutex*>(lock)->lock(); };
    given.unlock = [](void* lock) { static_cast<std::mutex*>(lock)->unlock(); };
    params.vulkan = &given;
    skipstone_engine* refused = nullptr;
    EXPECT_EQ(skipstone_engine_load(&params, &refused), SKIPSTONE_UNSUPPORTED) << "no feature was said to be enabled";
    given.feature_chain = needs.feature_chain;
    EXPECT_EQ(text_of(params), expected);
    given.feature_chain = nullptr;
    given.features = needs.features;
    given.feature_count = needs.feature_count;
    EXPECT_EQ(text_of(params), expected);
    skipstone_vulkan_needs_free(&needs);
    skipstone_vulkan_needs_free(&needs);  // nothing is left to free
    EXPECT_EQ(skipstone_vulkan_requirements(&given, nullptr), SKIPSTONE_INVALID_ARGUMENT);
  }
  EXPECT_EQ(Host::messages(), before);
}

}  // namespace
}  // namespace skipstone::engine
