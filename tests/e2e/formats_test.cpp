// Weight formats: golden blocks of another program, on the host and on the device; a model of mixed formats with factors beside matrices;
// and models of mixed formats against two other programs' numbers, where these data lie beside the checkout.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fixtures/failure.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "gguf/gguf.h"
#include "gguf/writer.h"
#include "gpu/test_device.h"
#include "model/config.h"
#include "ref/model.h"
#include "reference_numbers.h"
#include "selftest/bench.h"
#include "selftest/data.h"

namespace skipstone::engine {
namespace {

namespace fs = std::filesystem;

const fs::path formats_folder = fs::path(SKIPSTONE_SHARED_DATA) / "formats";

/// The entries of a folder in the order of their names; none where there is no folder.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  if (!fs::is_directory(folder)) return entries;
  for (const auto& entry : fs::directory_iterator(folder)) entries.push_back(entry.path());
  std::ranges::sort(entries);
  return entries;
}

/// Blocks of a type and the weights that another program finds in them.
struct GoldenBlocks {
  gguf::Type type = gguf::Type::f32;
  std::vector<std::byte> bytes;
  std::vector<float> weights;
};

GoldenBlocks read_golden(const nlohmann::json& document) {
  GoldenBlocks golden;
  golden.type = gguf::find_traits(document.at("type_number").get<std::uint32_t>())->type;
  for (const auto& item : document.at("blocks_hex")) {
    const auto text = item.get<std::string>();
    for (std::size_t i = 0; i < text.size(); i += 2) {
      unsigned value = 0;
      std::from_chars(text.data() + i, text.data() + i + 2, value, 16);
      golden.bytes.push_back(static_cast<std::byte>(value));
    }
  }
  for (const auto& block : document.at("values")) {
    for (const auto& weight : block) golden.weights.push_back(static_cast<float>(weight.get<double>()));
  }
  return golden;
}

/// Those of the types that this build runs.
std::vector<GoldenBlocks> all_golden() {
  std::vector<GoldenBlocks> all;
  for (const fs::path& file : entries_of(formats_folder)) {
    if (file.extension() != ".json") continue;
    const auto document = nlohmann::json::parse(std::ifstream(file));
    const gguf::Traits* traits = gguf::find_traits(document.at("type_number").get<std::uint32_t>());
    EXPECT_NE(traits, nullptr) << file;
    if (traits == nullptr) continue;
    EXPECT_EQ(traits->name, document.at("type").get<std::string>());
    EXPECT_EQ(traits->block, document.at("block_elements").get<std::uint32_t>()) << traits->name;
    EXPECT_EQ(traits->bytes, document.at("block_bytes").get<std::uint32_t>()) << traits->name;
    if (traits->runnable) {
      all.push_back(read_golden(document));
    } else {
      std::cout << traits->name << " is not run by this build\n";
    }
  }
  return all;
}

/// The number of weights with other bits; 0 and -0 are the same.
std::size_t count_different(std::span<const float> a, std::span<const float> b) {
  std::size_t count = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) count += a[i] == b[i] ? 0 : 1;
  return count;
}

// A row of an embedding table for each block. Weights below 2^-122, some of whose scales are denormal floats, may be lost
// (docs/numerics.md).
TEST(Formats, GoldenBlocksHaveTheirWeightsOnTheDevice) {
  const std::vector<GoldenBlocks> all = all_golden();
  if (all.empty()) GTEST_SKIP() << "no golden blocks in " << formats_folder;
  const std::shared_ptr<vk::Device> device = fixtures::TestDevice::get().device;
  kernels::Library& library = *fixtures::TestDevice::get().kernels;
  for (const GoldenBlocks& golden : all) {
    const gguf::Traits& traits = gguf::traits(golden.type);
    gguf::Tensor tensor;
    tensor.name = "golden";
    tensor.type = golden.type;
    tensor.dimensions = 2;
    const auto rows = static_cast<std::uint32_t>(golden.bytes.size() / traits.bytes);
    tensor.shape = {traits.block, rows, 1, 1};
    tensor.data = golden.bytes;
    selftest::Bench bench(device, library);
    const kernels::Matrix table = selftest::place(bench, tensor, 1, bench.select().interleave());
    const kernels::Resource out{kernels::ResourceKind::residual};
    ASSERT_EQ(kernels::bucket_for(rows), rows);
    bench.reserve(out, std::uint64_t{rows} * traits.block);
    bench.set_rows(0, rows);
    for (std::uint32_t row = 0; row < rows; ++row) bench.state().tokens[row] = row;
    bench.run(kernels::embed(bench.select(), table, rows, out, 1.0f, "embed"));
    auto got = bench.get<float>(out, golden.weights.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (got[i] == 0.0f && std::fabs(golden.weights[i]) < 0x1p-122f) got[i] = golden.weights[i];
    }
    EXPECT_EQ(count_different(got, golden.weights), 0u) << traits.name;
  }
}

/// The floats as blocks of the type; of types that are only read, random blocks whose largest weight is about as large.
std::vector<std::byte> blocks_of(gguf::Type type, const std::vector<float>& weights, std::mt19937& random) {
  const gguf::Traits& traits = gguf::traits(type);
  std::vector<std::byte> bytes(gguf::row_bytes(type, weights.size()));
  if (traits.writable()) {
    gguf::quantize(type, weights, bytes);
    return bytes;
  }
  const auto absolute = [](float a, float b) { return std::max(a, std::fabs(b)); };
  std::vector<float> expanded(traits.block);
  for (std::size_t at = 0; at < bytes.size(); at += traits.bytes) {
    const std::span<std::byte> block = std::span(bytes).subspan(at, traits.bytes);
    float largest = 0.0f;
    do {
      for (std::byte& byte : block) byte = static_cast<std::byte>(random());
      gguf::dequantize(type, block, expanded);
      largest = std::accumulate(expanded.begin(), expanded.end(), 0.0f, absolute);
    } while (!(largest > 0.04f && largest < 0.4f));
  }
  return bytes;
}

/// A model with biases whose matrices take turns with some formats (kernel_test has all; drivers take long to compile each). In even layers
/// Q, K and V have one, and gate and up: they are one matrix on the device. Most have a factor.
void write_mixed_model(const std::string& path) {
  fixtures::TinyConfig tiny = fixtures::tiny_family("qwen2");
  tiny.layers = 2;
  tiny.dim = tiny.ffn = 256;
  tiny.head_dim = 64;
  fixtures::write_tiny_model(tiny, path + ".f32");
  const gguf::File file = gguf::File::open(path + ".f32");
  constexpr std::array types{gguf::Type::nvfp4, gguf::Type::mxfp4, gguf::Type::q2_0};
  std::mt19937 random(7);
  gguf::Writer writer;
  for (const gguf::Pair& pair : file.metadata()) writer.set(pair.key, pair.value);
  std::size_t turn = 0, matrices = 0;
  for (const gguf::Tensor& tensor : file.tensors()) {
    const std::span shape(tensor.shape.data(), tensor.dimensions);
    std::vector<float> weights(tensor.elements());
    gguf::dequantize(tensor, weights);
    if (tensor.dimensions == 1) {
      writer.add_tensor(tensor.name, gguf::Type::f32, shape, std::span<const float>(weights));
      continue;
    }
    const std::string_view name = std::string_view(tensor.name).substr(0, tensor.name.size() - std::string_view(".weight").size());
    const bool even = name.starts_with("blk.") && (name[4] - '0') % 2 == 0;
    if (!even || !(name.ends_with("attn_k") || name.ends_with("attn_v") || name.ends_with("ffn_up"))) ++turn;
    const gguf::Type type = types[turn % types.size()];
    writer.add_tensor(tensor.name, type, shape, std::span<const std::byte>(blocks_of(type, weights, random)));
    if (++matrices % 4 == 0 || name == "token_embd") continue;
    const std::vector<std::uint64_t> one{1};
    const std::vector<float> factor{0.5f + static_cast<float>(matrices % 7) / 3.0f}, ignored{3.0f};
    writer.add_tensor(fmt::format("{}.scale", name), gguf::Type::f32, one, std::span<const float>(factor));
    writer.add_tensor(fmt::format("{}.input_scale", name), gguf::Type::f32, one, std::span<const float>(ignored));
  }
  writer.write(path);
}

TEST(Formats, AModelOfMixedFormatsGivesTheReferencesLogits) {
  const fixtures::TemporaryDirectory directory;
  const std::string path = directory.file("mixed.gguf");
  write_mixed_model(path);
  const gguf::File file = gguf::File::open(path);
  const ref::Model reference(file, KvFormat::f32, 128);
  const auto engine = load(path, 128, KvType::f32);
  Tokens tokens;
  for (int i = 0; i < 21; ++i) tokens.push_back(3 + i * i * 7 % 300);
  ref::Sequence sequence = reference.new_sequence();
  const auto wanted =
      reference.forward(sequence, tokens, 0, exec::LayerPlan::full(reference.config().layer_count()), {.all_logits = false, .hidden = {}});
  EXPECT_LT(distance(logits_behind(engine, tokens), wanted.logits.back()), 1e-4);
  Tokens expected;
  for (const char* draft : {"none", "suffix"}) {
    Session session(engine, with(draft));
    const Tokens out = session.generate(tokens, slow ? 4 : 12, {}).tokens;
    if (expected.empty()) expected = out;
    EXPECT_EQ(out, expected) << draft;
  }
}

// Refused with a sentence that names tensor and type.
TEST(Formats, ScalesThatAreNoNumbersAreRefused) {
  const fixtures::TemporaryDirectory directory;
  const std::string path = directory.file("mixed.gguf");
  write_mixed_model(path);
  const auto refusal_with = [&](const gguf::Tensor& tensor, std::string_view first_bytes) {
    std::string content = fixtures::bytes_of(path);
    const auto data = tensor.data.all();
    const std::size_t at = content.find(std::string_view(reinterpret_cast<const char*>(data.data()), data.size()));
    EXPECT_NE(at, std::string::npos) << tensor.name;
    content.replace(at, first_bytes.size(), first_bytes);
    const std::string other = directory.file("damaged.gguf");
    std::ofstream(other, std::ios::binary) << content;
    return fixtures::failure_of([&] { load(other, 128, KvType::f32); }).message;
  };
  const gguf::File file = gguf::File::open(path);
  std::size_t damaged = 0;
  for (const gguf::Type type : {gguf::Type::q2_0, gguf::Type::mxfp4}) {
    const auto tensor = std::ranges::find(file.tensors(), type, &gguf::Tensor::type);
    if (tensor == file.tensors().end()) continue;
    const std::string message = refusal_with(*tensor, "\xff\x7c");
    EXPECT_NE(message.find(fmt::format("Tensor '{}' of type {} has a scale in row 0", tensor->name, gguf::traits(type).name)),
              std::string::npos)
        << message;
    ++damaged;
  }
  EXPECT_EQ(damaged, 2u);
}

/// The name of a type in the file that this build does not run; "" if there is none.
std::string missing_type(const gguf::File& file) {
  for (const gguf::Tensor& tensor : file.tensors()) {
    if (!gguf::traits(tensor.type).runnable) return std::string(gguf::traits(tensor.type).name);
  }
  return "";
}

/// Logits of the device and of the scalar reference; tokens up to the first near tie, and those of drafters.
void compare(const std::string& model, const fs::path& numbers) {
  const auto engine = load(model, 256, KvType::f32);
  const gguf::File file = gguf::File::open(model);
  const ref::Model reference(file, KvFormat::f32, 256);
  for (const Expected& prompt : read_expected(numbers)) {
    const std::size_t size = prompt.ids.size();
    SCOPED_TRACE(fmt::format("{} tokens", size));
    if (slow && size > 33) continue;
    EXPECT_LT(distance(logits_behind(engine, prompt.ids), prompt.logits), 1e-4);
    if (full || size < 33) {
      ref::Sequence sequence = reference.new_sequence();
      const auto result = reference.forward(sequence, prompt.ids, 0, exec::LayerPlan::full(reference.config().layer_count()),
                                            {.all_logits = false, .hidden = {}});
      EXPECT_LT(distance(result.logits.back(), prompt.logits), 1e-4) << "reference";
    }
    if (!full && size != 33) continue;
    Session plain(engine, with("none"));
    const Tokens tokens = plain.generate(prompt.ids, slow ? 8 : static_cast<std::uint32_t>(prompt.greedy.size()), {}).tokens;
    for (std::size_t i = 0; i < tokens.size() && prompt.margins[i] >= 0.02; ++i) ASSERT_EQ(tokens[i], prompt.greedy[i]) << "token " << i;
    for (const std::string& draft : drafters_for(model.size(), engine->config())) {
      if (draft == "none") continue;
      Session session(engine, with(draft));
      const std::size_t length = full ? tokens.size() : std::min<std::size_t>(tokens.size(), 12);
      EXPECT_EQ(session.generate(prompt.ids, static_cast<std::uint32_t>(length), {}).tokens,
                Tokens(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(length)))
          << draft;
    }
  }
}

std::vector<std::string> reference_models() {
  std::vector<std::string> names;
  for (const fs::path& folder : entries_of(formats_folder / "models")) {
    if (fs::exists(folder / "model.gguf")) names.push_back(folder.filename().string());
  }
  return names;
}

class ReferenceModels : public testing::TestWithParam<std::string> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ReferenceModels);

TEST_P(ReferenceModels, GiveTheNumbersOfOtherPrograms) {
  const fs::path folder = formats_folder / "models" / GetParam();
  const std::string path = (folder / "model.gguf").string();
  const gguf::File file = gguf::File::open(path);
  const std::string type = missing_type(file), family = file.string("general.architecture", "");
  if (!type.empty()) GTEST_SKIP() << "this build does not run " << type;
  if (model::find_architecture(family) == nullptr) GTEST_SKIP() << "this build does not run " << family;
  if (slow && GetParam() != "nvfp4-scale") GTEST_SKIP() << fixtures::left_to_the_sweep;
  compare(path, folder / "expected.json");
}

INSTANTIATE_TEST_SUITE_P(Formats, ReferenceModels, testing::ValuesIn(reference_models()), [](const auto& name) {
  std::string text = name.param;
  std::ranges::replace_if(
      text, [](char c) { return c == '-' || c == '.'; }, '_');
  return text;
});

}  // namespace
}  // namespace skipstone::engine
