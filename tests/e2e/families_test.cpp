// Model families: each against the scalar reference with tiny models of its shape, and against two other programs' numbers where the
// reference models lie beside the checkout.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/status.h"
#include "convert/quantize.h"
#include "engine/engine.h"
#include "engine/model_loading.h"
#include "exec/pass_builder.h"
#include "fixtures/slow_device.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "gguf/gguf.h"
#include "ref/model.h"
#include "ref/operations.h"
#include "reference_numbers.h"

namespace skipstone::engine {
namespace {

struct Family {
  std::string name;
  fixtures::TinyConfig config;
  std::uint32_t context;
};

/// All that there are, and variants of theirs.
std::vector<Family> families() {
  std::vector<Family> all;
  for (const model::Architecture& row : model::architectures()) {
    all.push_back({std::string(row.name), fixtures::tiny_family(row.name), 128});
    if (row.name == "llama") {  // a window on all layers (Mistral)
      all.push_back(all.back());
      all.back().name += ", window";
      all.back().config.keys.push_back({"attention.sliding_window", std::uint32_t{20}});
    }
    if (row.name == "gemma4") {
      all.push_back({"gemma4, experts", fixtures::tiny_gemma4_with_experts(), 128});
    }
    if (row.unscaled_windows) {  // OLMo 3
      all.push_back(all.back());
      all.back().name += ", window, YaRN";
      all.back().config.keys = {{"attention.sliding_window", std::uint32_t{12}},
                                {"attention.sliding_window_pattern",
                                 std::make_shared<const gguf::Array>(gguf::Array{std::vector<bool>{true, true, true, false, true}})},
                                {"rope.scaling.type", std::string("yarn")},
                                {"rope.scaling.factor", 8.0f},
                                {"rope.scaling.original_context_length", std::uint32_t{16}}};
    }
    if ((row.honours & model::honours_long_rope) == 0) continue;
    all.back().config.rope_dim = 8;
    for (const std::uint32_t context : {128u, 129u}) {
      all.push_back(all.back());
      all.back().name = fmt::format("{}, two sets of factors, context {}", row.name, context);
      all.back().config.long_rope_above = 128;
      all.back().context = context;
    }
  }
  all.push_back({"llama, MLPs of several widths", fixtures::tiny_family("llama"), 128});
  all.back().config.ffn_of_layers = {64, 32, 96, 32, 128};
  return all;
}

Tokens prompt_of(std::size_t count, std::uint32_t seed) {
  Tokens tokens;
  for (std::size_t i = 0; i < count; ++i) tokens.push_back(static_cast<Token>(3 + (i * i * 7 + i * 13 + seed * 31) % 300));
  return tokens;
}

TEST(Families, LogitsAreTheReferencesAndTextsDoNotDependOnTheDrafter) {
  const fixtures::TemporaryDirectory directory;
  const std::string file = (directory.path() / "tiny.gguf").string();
  std::vector<std::vector<float>> seen;
  for (const Family& family : families()) {
    fixtures::write_tiny_model(family.config, file);
    const gguf::File opened = gguf::File::open(file);
    for (const KvType kv : {KvType::f32, KvType::f16}) {
      if (kv == KvType::f16 && (slow || (!full && seen.size() % 2 == 0))) continue;
      SCOPED_TRACE(fmt::format("{}, {}", family.name, kv == KvType::f32 ? "f32" : "f16"));
      const ref::Model reference(opened, kv == KvType::f32 ? KvFormat::f32 : KvFormat::f16, family.context);
      const auto engine = load(file, family.context, kv);
      const double most = kv == KvType::f32 ? 1e-4 : 3e-4;  // a key or value between two halves may round to either
      for (const std::size_t length : {std::size_t{5}, std::size_t{70}}) {
        const Tokens tokens = prompt_of(length, 1);
        ref::Sequence sequence = reference.new_sequence();
        const auto wanted =
            reference.forward(sequence, tokens, 0, exec::LayerPlan::full(family.config.layers), {.all_logits = false, .hidden = {}});
        Session read(engine, with("none"));
        read.prefill(tokens);
        const std::vector<float> got = read.logits();
        EXPECT_LT(distance(got, wanted.logits.back()), most) << length << " tokens";
        // In parts: other passes over the same tokens.
        Session pieces(engine, with("none"));
        for (std::size_t at = 0, step = 1; at < tokens.size(); at += step, step = step * 2 + 1) {
          pieces.prefill({tokens.begin() + static_cast<std::ptrdiff_t>(at),
                          tokens.begin() + static_cast<std::ptrdiff_t>(std::min(at + step, tokens.size()))});
        }
        EXPECT_LT(distance(pieces.logits(), wanted.logits.back()), most);
        if (kv == KvType::f32 && length == 70) seen.push_back(got);
        Tokens expected;
        for (const std::string& draft : drafters_for(seen.size() + length, engine->config())) {
          Session session(engine, with(draft));
          const Tokens out = session.generate(tokens, slow ? 8 : 24, {}).tokens;
          if (expected.empty()) expected = out;
          EXPECT_EQ(out, expected) << draft;
        }
      }
    }
  }
  // Each differs from the others: a family whose difference is not computed would not.
  for (std::size_t i = 0; i < seen.size(); ++i) {
    for (std::size_t j = i + 1; j < seen.size(); ++j) EXPECT_GT(distance(seen[i], seen[j]), 1e-3) << i << " and " << j;
  }
}

// Q4_K's blocks are of 256 weights; its files have Q6_K too.
TEST(Families, QuantisedModelsGiveTheReferencesLogits) {
  const fixtures::TemporaryDirectory directory;
  const std::string whole = (directory.path() / "f32.gguf").string(), file = (directory.path() / "quantised.gguf").string();
  const std::array types{convert::FileType::q4_k_m, convert::FileType::q8_0, convert::FileType::q4_0};
  std::size_t turn = 0;
  for (const char* name : {"gemma3", "phi3", "olmo2"}) {
    fixtures::TinyConfig tiny = fixtures::tiny_family(name);
    tiny.dim = tiny.ffn = 256;
    tiny.head_dim = 64;
    fixtures::write_tiny_model(tiny, whole);
    const std::size_t own = turn++;  // the full tests give each family all three
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (i != own && !full) continue;
      const convert::FileType type = types[i];
      SCOPED_TRACE(fmt::format("{} {}", name, convert::traits(type).name));
      convert::QuantizeOptions options;
      options.input = whole;
      options.output = file;
      options.type = type;
      options.overwrite = true;
      convert::quantize(options);
      const gguf::File opened = gguf::File::open(file);
      const ref::Model reference(opened, KvFormat::f32, 128);
      const Tokens tokens = prompt_of(slow ? 20 : 70, 2);
      ref::Sequence sequence = reference.new_sequence();
      const auto wanted = reference.forward(sequence, tokens, 0, exec::LayerPlan::full(tiny.layers), {.all_logits = false, .hidden = {}});
      Session session(load(file, 128, KvType::f32), with("none"));
      session.prefill(tokens);
      EXPECT_LT(distance(session.logits(), wanted.logits.back()), 1e-4);
    }
  }
}

// As many tokens as Gemma's vocabularies have: indices beyond 16 bits, thousands of partial results of the argmax.
TEST(Families, LargeVocabulariesGiveTheReferencesTokens) {
  const fixtures::TemporaryDirectory directory;
  const std::string file = (directory.path() / "large.gguf").string();
  fixtures::TinyConfig tiny = fixtures::tiny_family("gemma3");
  tiny.layers = 2;
  tiny.dim = 32;
  tiny.vocab = 262144;
  tiny.type = gguf::Type::q8_0;
  fixtures::write_tiny_model(tiny, file);
  const auto engine = load(file, 64, KvType::f32);
  const ref::Model reference(gguf::File::open(file), KvFormat::f32, 64);
  Tokens text{5, 70000, 262143, 131072};
  ref::Sequence sequence = reference.new_sequence();
  const auto wanted = reference.forward(sequence, text, 0, exec::LayerPlan::full(tiny.layers), {.all_logits = false, .hidden = {}});
  Session session(engine, with("none"));
  const Tokens out = session.generate(text, 4, {}).tokens;
  ASSERT_EQ(out.size(), 4u);
  EXPECT_EQ(out[0], ref::argmax(wanted.logits.back()).token);
  EXPECT_LT(distance(logits_behind(engine, text), wanted.logits.back()), 1e-4);
  for (const char* draft : {"suffix", "exit:auto"}) {
    Session drafting(engine, with(draft));
    EXPECT_EQ(drafting.generate(text, 4, {}).tokens, out) << draft;
  }
}

TEST(Families, TheMemoryPlanSaysWhatWindowsSave) {
  const fixtures::TemporaryDirectory directory;
  const std::string file = (directory.path() / "tiny.gguf").string();
  fixtures::write_tiny_model(fixtures::tiny_family("gemma2"), file);  // layers 0, 2 and 4 of 5 see 12 keys
  const gguf::File opened = gguf::File::open(file);
  const model::Config config = model::Config::from(opened);
  const MemoryPlan plan = plan_memory(opened, config, 128, KvType::f16);
  const std::uint64_t layer = plan.kv_without_windows / 5;
  EXPECT_EQ(plan.kv, plan.kv_without_windows) << "a context as short as a pass";
  EXPECT_EQ(plan.kv_read, layer * 2 + layer / 128 * 12 * 3);
  const MemoryPlan large = plan_memory(opened, config, 4096, KvType::f16);
  EXPECT_EQ(large.kv, large.kv_without_windows / 5 * 2 + layer / 128 * 3 * 704) << "12 keys, a chunk, two passes and a page: 11 pages";
  EXPECT_EQ(plan_memory(opened, config, 12, KvType::f16).kv_read, plan_memory(opened, config, 12, KvType::f16).kv);
}

/// What a reference model's comparison found: the largest distances of the logits over its prompts, and tokens that are equal.
struct Found {
  double exact = 0, pieces = 0, rounded = 0, rounded_reference = 0;
  std::size_t equal = 0, compared = 0;
};

/// With drafters the tokens of plain decoding; and those of the other programs, up to the first step at which the two best logits
/// nearly tie.
void expect_greedy(const std::shared_ptr<Engine>& engine, const Expected& prompt, Found& found) {
  Tokens expected;
  for (const std::string& draft : drafters_for(prompt.ids.size(), engine->config())) {
    Session session(engine, with(draft));
    const Tokens out = session.generate(prompt.ids, slow ? 8 : static_cast<std::uint32_t>(prompt.greedy.size()), {}).tokens;
    if (expected.empty()) expected = out;
    EXPECT_EQ(out, expected) << draft;
  }
  for (std::size_t i = 0; i < (slow ? 8 : prompt.greedy.size()) && prompt.margins[i] >= 0.02; ++i) {
    ASSERT_LT(i, expected.size());
    ++found.compared;
    ASSERT_EQ(expected[i], prompt.greedy[i]) << "token " << i;
    ++found.equal;
  }
}

/// `halves`: with keys and values in halves too.
void compare(const std::string& model, const std::filesystem::path& numbers, std::uint32_t context, bool halves, Found& found) {
  const std::vector<Expected> prompts = read_expected(numbers);
  const auto exact = load(model, context, KvType::f32), rounded = halves ? load(model, context, KvType::f16) : nullptr;
  const gguf::File file = gguf::File::open(model);
  const ref::Model reference(file, KvFormat::f16, context);
  const auto largest = [](double& most, double distance, double limit) {
    most = std::max(most, distance);
    EXPECT_LT(distance, limit);
  };
  for (const Expected& prompt : prompts) {
    const bool whole = full || prompt.ids.size() == 33;  // the short tests read the other prompts, and continue with this one alone
    if (prompt.ids.size() + prompt.greedy.size() > context || (slow && !whole)) continue;
    SCOPED_TRACE(fmt::format("{} tokens", prompt.ids.size()));
    largest(found.exact, distance(logits_behind(exact, prompt.ids), prompt.logits), 1e-4);
    for (const std::size_t piece : {std::size_t{7}, std::size_t{1}, std::size_t{17}}) {
      if (piece != 7 && !full) continue;
      largest(found.pieces, distance(logits_behind(exact, prompt.ids, piece), prompt.logits), 1e-4);
    }
    if (!whole) continue;
    expect_greedy(exact, prompt, found);
    if (!halves) continue;
    // Keys and values in halves cost models of 4 to 8 layers up to 8 thousandths, with the reference as with the device. Each layer adds to
    // it: DeepSeek V2 Lite's model, whose other programs demand its number of layers, has 27. Where experts are chosen it can be more,
    // since a choice may turn: then the distance to the reference alone is tested.
    const double depth = std::max(1.0, reference.config().layer_count() / 8.0);
    ref::Sequence sequence = reference.new_sequence();
    const auto wanted = reference.forward(sequence, prompt.ids, 0, exec::LayerPlan::full(reference.config().layer_count()),
                                          {.all_logits = false, .hidden = {}});
    const std::vector<float> got = logits_behind(rounded, prompt.ids);
    largest(found.rounded_reference, distance(got, wanted.logits.back()), 1e-3 * depth);
    const bool turned = reference.config().experts() != nullptr && distance(wanted.logits.back(), prompt.logits) > 1e-2 * depth;
    if (turned) {
      found.rounded = std::max(found.rounded, distance(got, prompt.logits));
    } else {
      largest(found.rounded, distance(got, prompt.logits), 1e-2 * depth);
    }
  }
}

/// Numbers of an embedding model are vectors of whole texts, which no text follows from, even where its layers are those of a family that
/// is run.
bool gives_vectors(const std::filesystem::path& numbers) {
  std::ifstream stream(numbers);
  return nlohmann::json::parse(stream).value("kind", "") == "embedding";
}

/// Where SKIPSTONE_FAMILY_TABLE names a file, a row of docs/results/families.md goes there.
void report(const std::string& name, const Found& found) {
  const auto file = env::get("SKIPSTONE_FAMILY_TABLE");
  if (!file) return;
  std::ofstream(*file, std::ios::app) << fmt::format("| {} | {:.1e} | {:.1e} | {:.1e} | {:.1e} | {} of {} |\n", name, found.exact,
                                                     found.pieces, found.rounded, found.rounded_reference, found.equal, found.compared);
}

bool runs_on_devices(const std::string& file) {
  const gguf::File opened = gguf::File::open(file);
  try {
    return exec::missing_on_devices(model::Config::from(opened)) == nullptr;
  } catch (const Error& error) {
    return error.code() != Code::unsupported;
  }
}

TEST(Families, ReferenceModelsGiveTheNumbersOfOtherPrograms) {
  const std::filesystem::path root = std::filesystem::path(SKIPSTONE_SHARED_DATA) / "arch";
  if (!std::filesystem::is_directory(root)) GTEST_SKIP() << "no reference models in " << root;
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(root)) folders.push_back(entry.path());
  std::ranges::sort(folders);
  std::size_t compared = 0;
  for (const std::filesystem::path& folder : folders) {
    const std::filesystem::path file = folder / "model.gguf";
    if (!std::filesystem::exists(file)) continue;
    if (model::find_architecture(gguf::File::open(file.string()).string("general.architecture", "")) == nullptr) continue;
    if (gives_vectors(folder / "expected.json") || !runs_on_devices(file.string())) continue;
    SCOPED_TRACE(folder.filename().string());
    const bool two_sets = std::filesystem::exists(folder / "expected_long.json");
    const std::string name = folder.filename().string();
    const bool halves = full || compared % 3 == 0;
    Found found, found_long;
    EXPECT_NO_THROW(compare(file.string(), folder / "expected.json", two_sets ? 256 : 512, halves, found));
    report(name, found);
    if (two_sets) {
      EXPECT_NO_THROW(compare(file.string(), folder / "expected_long.json", 512, halves, found_long));
      report(name + ", long factors", found_long);
    }
    ++compared;
  }
  EXPECT_GE(compared, 15u);
}

}  // namespace
}  // namespace skipstone::engine
