// kbench times what is right, and nothing that is wrong; every operation has a row in its table.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "base/status.h"
#include "json/json.h"
#include "kbench/launches.h"
#include "kbench/measure.h"
#include "kbench/model_passes.h"
#include "kbench/report.h"
#include "selftest/cases.h"
#include "selftest/data.h"
#include "test_device.h"

namespace kbench {
namespace {

using skipstone::fixtures::TestDevice;
namespace kernels = skipstone::kernels;
namespace gguf = skipstone::gguf;
namespace vk = skipstone::vk;

const std::uint32_t broken_rms_norm_spirv[] = {
#include "broken_rms_norm.inc"
};

Settings small() {
  Settings settings;
  settings.sizes = {.n = 128, .k = 64, .width = 64, .ffn = 96, .heads = 4, .kv_heads = 2, .head_dim = 16, .vocabulary = 300, .depth = 70};
  settings.sizes.experts = 12, settings.sizes.experts_used = 4, settings.sizes.expert_ffn = 32;
  settings.rows = {1, 3, 4};
  settings.samples = 3;
  settings.warm_up_seconds = 0;
  settings.sample_seconds = 0;
  settings.working_set = 64 << 10;
  return settings;
}

std::vector<Result> measure(const Settings& settings, kernels::Library& library) {
  return Measurement(TestDevice::get().device, library, settings).run([](const std::string&) {});
}

TEST(Kbench, EveryOperationHasARow) {
  std::set<std::string> tested, listed;
  std::set<std::string_view> names;
  for (const auto& item : skipstone::selftest::all_cases({skipstone::selftest::Depth::quick, TestDevice::get().device->tuning()})) {
    // What one lane does between the passes of a round is not timed.
    if (item.operation == "advance" || item.operation == "accept") continue;
    if (!item.name.starts_with("invariance")) tested.insert(item.name.substr(0, item.name.find(' ')));
  }
  for (const Operation& operation : operations()) {
    EXPECT_TRUE(names.insert(operation.name).second) << operation.name;
    listed.insert(std::string(operation.cases));
  }
  EXPECT_EQ(listed, tested);
}

TEST(Kbench, TimesEveryOperation) {
  kernels::Library& library = *TestDevice::get().kernels;
  Settings settings = small();
  // All formats have the same kernels otherwise, and drivers take long to compile them.
  settings.formats = {gguf::Type::f16, gguf::Type::q8_0, gguf::Type::q4_k};
  settings.sizes.k = settings.sizes.width = 256;
  const std::vector<Result> results = measure(settings, library);
  std::set<std::string> measured;
  for (const Result& result : results) {
    EXPECT_EQ(result.failure, "") << result.kernel;
    EXPECT_EQ(result.seconds.size(), 3u) << result.kernel;
    for (const double seconds : result.seconds) EXPECT_GT(seconds, 0.0) << result.kernel;
    EXPECT_GT(result.bytes, 0.0) << result.kernel;
    EXPECT_NE(result.rows, 3u);  // passes take whole buckets
    measured.insert(result.operation + result.format);
  }
  std::size_t wanted = 0;
  for (const Operation& operation : operations()) wanted += operation.has_formats ? std::size(settings.formats) : 1;
  EXPECT_EQ(measured.size(), wanted);
  EXPECT_EQ(TestDevice::get().messages(), 0u);
}

TEST(Kbench, ABrokenKernelIsNamedAndNotTimed) {
  kernels::Library library(TestDevice::get().device, "");
  library.replace(kernels::KernelId::rms_norm, broken_rms_norm_spirv);
  Settings settings = small();
  settings.operations = {"rms_norm", "swiglu"};
  const std::vector<Result> results = measure(settings, library);
  ASSERT_EQ(results.size(), 4u);
  for (const Result& result : results) {
    EXPECT_EQ(result.failure.empty(), result.operation == "swiglu") << result.failure;
    EXPECT_EQ(result.seconds.empty(), result.operation == "rms_norm");
  }
  const std::string text = report(results, {}, cli::Format::markdown);
  EXPECT_NE(text.find("rms_norm is wrong"), std::string::npos) << text;
  const auto records = nlohmann::json::parse(report(results, {}, cli::Format::json));
  EXPECT_EQ(records[0]["passed"], false);
  EXPECT_TRUE(records[0]["microseconds"].is_null());
  EXPECT_EQ(records[2]["passed"], true);
  EXPECT_EQ(records[2]["v"], 1.0);
}

TEST(Kbench, MatricesAreReadInTurn) {
  kernels::Library& library = *TestDevice::get().kernels;
  Settings settings = small();
  settings.operations = {"matvec"};
  settings.formats = {gguf::Type::q8_0};
  const std::vector<Result> results = measure(settings, library);
  ASSERT_EQ(results.size(), 2u);
  // 128 rows of two blocks: 32 bytes of quants and a half-precision scale each; x and y besides.
  EXPECT_EQ(results[0].bytes, 128 * 2 * 34 + 4.0 * (128 + 64));
  EXPECT_EQ(results[1].flops, 4 * 2.0 * 128 * 64);
}

// A pass reads the weights of its distinct experts, each once: with no overlap those of all rows, with a whole one those of one row.
TEST(Kbench, ExpertsAreCountedOnce) {
  kernels::Library& library = *TestDevice::get().kernels;
  Settings settings = small();
  settings.operations = {"experts"};
  settings.formats = {gguf::Type::q8_0};
  settings.rows = {1, 4};
  constexpr double expert = 32 * 2 * 34, row = 4.0 * (64 + 4 * 32);  // 32 rows of two blocks; x and four rows of y
  for (const auto& [overlap, distinct] : {std::pair{0.0, 12.0}, {0.5, 10.0}, {1.0, 4.0}}) {
    settings.sizes.overlap = overlap;
    const std::vector<Result> results = measure(settings, library);
    ASSERT_EQ(results.size(), 2u);
    EXPECT_EQ(results[0].failure, "");
    EXPECT_EQ(results[0].bytes, 4 * expert + row) << overlap;
    EXPECT_EQ(results[1].bytes, distinct * expert + 4 * row) << overlap;
  }
}

TEST(Kbench, AWindowCountsWhatRowsSee) {
  kernels::Library& library = *TestDevice::get().kernels;
  Settings settings = small();
  settings.operations = {"attention", "attention_merge", "attention_prefill"};
  settings.sizes.window = 16;
  settings.sizes.softcap = 30.0f;
  settings.rows = {1, 4};
  const std::vector<Result> results = measure(settings, library);
  ASSERT_EQ(results.size(), 6u);
  for (const Result& result : results) {
    EXPECT_EQ(result.failure, "") << result.kernel;
    EXPECT_NE(result.shape.find("w16 cap30"), std::string::npos) << result.shape;
  }
  // Each row has 16 keys of four heads of 16 dimensions; four rows share 19 keys and values of two heads, in halves.
  EXPECT_EQ(results[0].flops, 4.0 * 16 * 4 * 16);
  EXPECT_EQ(results[1].flops, 4 * results[0].flops);
  EXPECT_EQ(results[1].bytes, 2 * 19 * 2 * 16 * 2 + 4 * 4 * 16 * 4.0);
  EXPECT_EQ(results[5].bytes, results[1].bytes + 4 * 4 * 16 * 4.0);
  // Keys 55 .. 70 and 58 .. 73 lie in the first two chunks of 64 of each row.
  EXPECT_EQ(results[2].flops, 2.0 * 4 * 2 * (16 + ATTENTION_PARTIAL_EXTRA));
  EXPECT_EQ(results[3].flops, 4 * results[2].flops);
}

/// Records `dispatches` without memory for them: each resource is a small range of its own.
vk::Commands recorded(kernels::Library& library, std::span<const kernels::Dispatch> dispatches) {
  const auto& device = TestDevice::get().device;
  vk::Arena arena(device, vk::Role::state);
  std::map<std::string, vk::Slice> places;
  const auto place = [&](const kernels::Resource& resource) {
    vk::Slice& slice = places[kernels::to_string(resource)];
    if (!slice) slice = arena.allocate(sizeof(skipstone::abi::StepState));
    return slice;
  };
  vk::Recorder recorder(device);
  for (const kernels::Dispatch& dispatch : dispatches) kernels::record(recorder, library, dispatch, place);
  return recorder.finish();
}

TEST(Kbench, LaunchesAreThoseThatAreRecorded) {
  const auto& device = TestDevice::get().device;
  const kernels::Selector select(device->caps(), device->tuning());
  kernels::Library& library = *TestDevice::get().kernels;
  for (const char* const name : {"llama-3.2-1b:q4_0", "gemma-3-1b:q4_0"}) {
    const ModelLaunches counted = launches(name, select, skipstone::KvFormat::f16);
    const ModelPasses model(name, select, skipstone::KvFormat::f16);
    const auto plan = model.builder().build({.layers = skipstone::exec::LayerPlan::full(model.layers())});
    const vk::Commands commands = recorded(library, plan.dispatches);
    ASSERT_EQ(counted.passes.size(), 2u);
    EXPECT_EQ(counted.passes[0].dispatches, commands.dispatches()) << name;
    EXPECT_EQ(counted.passes[0].barriers, commands.barriers()) << name;
    std::size_t labelled = 0;
    for (const auto& [label, times] : counted.passes[0].by_label) labelled += times;
    EXPECT_EQ(labelled, commands.dispatches()) << name;
    EXPECT_GT(launch_share(counted, counted.passes[0]), 0.0) << name;
    EXPECT_LT(launch_share(counted, counted.passes[0]), 1.0) << name;
  }
}

TEST(Kbench, PipelinesAreListedOnceWithTheirReason) {
  const auto& device = TestDevice::get().device;
  const kernels::Selector select(device->caps(), device->tuning());
  const ModelLaunches counted = launches("llama-3.2-1b:q4_0", select, skipstone::KvFormat::f16);
  std::set<std::string> seen;
  std::map<std::string, std::string> reasons;
  for (const MadePipeline& p : counted.pipelines) {
    EXPECT_TRUE(seen.insert(p.kernel + p.constants + "," + std::to_string(p.subgroup)).second) << p.kernel << " " << p.constants;
    reasons.try_emplace(p.kernel, p.when + ", " + p.pass);
  }
  EXPECT_EQ(reasons["accept"], "drafts, verify");
  EXPECT_EQ(reasons["advance"], "drafts, draft");
  EXPECT_EQ(reasons["move_kv"], "trees, move");
  EXPECT_EQ(reasons["argmax_merge"], "load, rows 1");
  EXPECT_EQ(counted.made("load") + counted.made("drafts") + counted.made("sampling") + counted.made("trees"), counted.pipelines.size());
  EXPECT_LT(2 * counted.made("load"), counted.made("load") + counted.made("drafts") + 1) << "a start makes what drafts need";
  EXPECT_THROW(launches("llama-9:q4_0", select, skipstone::KvFormat::f16), skipstone::Error);
}

TEST(Kbench, PeakIsPlausible) {
  const double peak = peak_flops(TestDevice::get().device);
  EXPECT_GT(peak, 1e8);
  EXPECT_LT(peak, 1e15);
}

}  // namespace
}  // namespace kbench
