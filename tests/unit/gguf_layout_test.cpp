// Files that we write, field by field against the GGUF specification and llama.cpp's loader, by a reader that is not ours; and proof that
// each of its checks can fail.
#include "gguf_layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "convert/quantize.h"
#include "edited_model.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"

namespace skipstone::tests {
namespace {

using fixtures::bytes_of;
using fixtures::TemporaryDirectory;
using fixtures::TinyConfig;
using gguf::Type;

// The keys of stories260K.gguf, which other programs have run for years; a model that we give away has them too.
constexpr std::array expected_keys = {
    "general.architecture",
    "general.name",
    "llama.context_length",
    "llama.embedding_length",
    "llama.block_count",
    "llama.feed_forward_length",
    "llama.attention.head_count",
    "llama.attention.head_count_kv",
    "llama.attention.layer_norm_rms_epsilon",
    "llama.rope.dimension_count",
    "llama.rope.freq_base",
    "llama.vocab_size",
    "tokenizer.ggml.model",
    "tokenizer.ggml.pre",
    "tokenizer.ggml.tokens",
    "tokenizer.ggml.scores",
    "tokenizer.ggml.token_type",
    "tokenizer.ggml.bos_token_id",
    "tokenizer.ggml.eos_token_id",
    "tokenizer.ggml.unknown_token_id",
    "tokenizer.ggml.add_bos_token",
    "tokenizer.ggml.add_eos_token",
};

/// What is there to be said against the file; "" for nothing.
std::string complaints_about(const std::string& bytes) { return fmt::format("{}", fmt::join(layout_complaints(bytes), "; ")); }

void expect_keys(const std::string& bytes) {
  const Layout layout = read_layout(bytes);
  for (const char* key : expected_keys) EXPECT_NE(layout.find(key), nullptr) << key;
}

void quantize(const std::string& input, const std::string& output, Type type) {
  convert::QuantizeOptions options;
  options.input = input;
  options.output = output;
  options.type = convert::file_type_of(type);
  convert::quantize(options);
}

TEST(GgufLayout, OfWhatTheWriterWrites) {
  const TemporaryDirectory folder;
  const std::vector<TinyConfig> configs = {{},
                                           {.tied = false, .biases = true, .rope_freqs = true, .type = Type::f16},
                                           {.dim = 36, .heads = 4, .head_dim = 8, .ffn = 20, .type = Type::bf16},
                                           {.layers = 2, .dim = 256, .ffn = 256}};
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const std::string path = folder.file("tiny.gguf");
    fixtures::write_tiny_model(configs[i], path);
    EXPECT_EQ(complaints_about(bytes_of(path)), "") << i;
    for (const gguf::Traits& traits : gguf::all_traits()) {
      if (!traits.writable()) continue;
      const Type type = traits.type;
      const std::string other = folder.file(fmt::format("tiny-{}-{}.gguf", i, static_cast<int>(type)));
      quantize(path, other, type);
      // Where rows do not divide into blocks, other types take the place of what was asked for, and the file cannot say so.
      if (configs[i].dim % traits.block != 0) continue;
      EXPECT_EQ(complaints_about(bytes_of(other)), "") << i << " " << traits.name;
    }
  }
}

TEST(GgufLayout, OfAnotherAlignment) {
  const TemporaryDirectory folder;
  for (const std::uint32_t alignment : {8u, 64u, 4096u}) {
    EditedModel({.layers = 1, .dim = 36, .heads = 4, .head_dim = 8}).set("general.alignment", alignment).write(folder.file("aligned.gguf"));
    EXPECT_EQ(complaints_about(bytes_of(folder.file("aligned.gguf"))), "") << alignment;
  }
}

TEST(GgufLayout, OfAModelThatOtherProgramsRun) {
  const std::string path = SKIPSTONE_SHARED_DATA "/models/stories260K.gguf";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
  EXPECT_EQ(complaints_about(bytes_of(path)), "");
  expect_keys(bytes_of(path));
  // The pattern is complete: a key that it has and the list has not would go untested.
  EXPECT_EQ(read_layout(bytes_of(path)).pairs.size(), expected_keys.size());
  const TemporaryDirectory folder;
  for (const Type type : {Type::f16, Type::q8_0, Type::q4_0, Type::q5_1, Type::iq4_nl}) {
    const std::string other = folder.file(fmt::format("{}.gguf", static_cast<int>(type)));
    quantize(path, other, type);
    EXPECT_EQ(complaints_about(bytes_of(other)), "") << gguf::traits(type).name;
    expect_keys(bytes_of(other));
  }
}

TEST(GgufLayout, OfTheBundledModels) {
  std::size_t checked = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SKIPSTONE_MODELS)) {
    // A head for multi-token prediction has neither layers nor a tokenizer: bundled_models_test reads it beside its model.
    if (entry.path().extension() != ".gguf" || entry.path().filename().string().starts_with("mtp-")) continue;
    const std::string bytes = bytes_of(entry.path().string());
    EXPECT_EQ(complaints_about(bytes), "") << entry.path();
    expect_keys(bytes);
    EXPECT_NE(read_layout(bytes).find("general.file_type"), nullptr) << entry.path();
    ++checked;
  }
  if (checked == 0) GTEST_SKIP() << "no models in " SKIPSTONE_MODELS;
}

// ---- files that are wrong on purpose ----------------------------------------------------------------------------------------

/// A file with padding between its tensors (rows of 36 floats are 144 bytes) and every field that the mutations below need.
EditedModel good_model() {
  EditedModel model({.layers = 2, .dim = 36, .heads = 4, .head_dim = 8, .ffn = 20, .rope_freqs = true});
  model.set("general.file_type", std::uint32_t{0});
  return model;
}

class Damaged {
 public:
  explicit Damaged(const EditedModel& model = good_model()) {
    const TemporaryDirectory folder;
    model.write(folder.file("good.gguf"));
    bytes_ = bytes_of(folder.file("good.gguf"));
    layout_ = read_layout(bytes_);
  }
  const LayoutPair& pair(const char* key) const { return *layout_.find(key); }
  const LayoutTensor& tensor(const char* name) const { return *layout_.tensor(name); }
  const Layout& layout() const { return layout_; }
  const std::string& bytes() const { return bytes_; }

  void put(std::size_t at, std::uint64_t value, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i) bytes_.at(at + i) = static_cast<char>(value >> (8 * i) & 0xff);
  }
  void put(std::size_t at, const std::string& text) { bytes_.replace(at, text.size(), text); }
  std::string& edit() { return bytes_; }

 private:
  std::string bytes_;
  Layout layout_;
};

struct Mutation {
  const char* complaint;  ///< a part of what the checker has to say
  std::function<void(Damaged&)> damage;
};

const std::vector<Mutation>& byte_mutations() {
  static const std::vector<Mutation> all = {
      {"magic", [](Damaged& d) { d.put(0, "GGML"); }},
      {"version is 2", [](Damaged& d) { d.put(4, 2, 4); }},
      {"tensor '' has 0 dimensions", [](Damaged& d) { d.put(8, d.layout().tensors.size() + 1, 8); }},
      {"file ends", [](Damaged& d) { d.put(16, 1000000, 8); }},
      {"file ends", [](Damaged& d) { d.edit().resize(d.layout().header_end - 1); }},
      {"no value type 13", [](Damaged& d) { d.put(d.pair("llama.block_count").type_at, 13, 4); }},
      {"'llama.block_count' has the type 5", [](Damaged& d) { d.put(d.pair("llama.block_count").type_at, type_i32, 4); }},
      {"'llama.rope.freq_base' has the type 4", [](Damaged& d) { d.put(d.pair("llama.rope.freq_base").type_at, type_u32, 4); }},
      {"'tokenizer.ggml.bos_token_id' has the type 5",
       [](Damaged& d) { d.put(d.pair("tokenizer.ggml.bos_token_id").type_at, type_i32, 4); }},
      {"'tokenizer.ggml.add_bos_token' has the type 0",
       [](Damaged& d) { d.put(d.pair("tokenizer.ggml.add_bos_token").type_at, type_u8, 4); }},
      {"a bool of 2", [](Damaged& d) { d.put(d.pair("tokenizer.ggml.add_bos_token").value_at, 2, 1); }},
      {"of 4, not 9 of 5", [](Damaged& d) { d.put(d.pair("tokenizer.ggml.token_type").value_at, type_u32, 4); }},
      {"there twice", [](Damaged& d) { d.put(d.pair("tokenizer.ggml.bos_token_id").key_at, "tokenizer.ggml.eos_token_id"); }},
      {"lower_snake_case", [](Damaged& d) { d.put(d.pair("general.name").key_at, "general.Name"); }},
      {"lower_snake_case", [](Damaged& d) { d.put(d.pair("general.name").key_at, "general..ame"); }},
      {"a key has 70000 bytes",
       [](Damaged& d) {
         const std::size_t at = d.pair("general.name").key_at;
         d.put(at - 8, 70000, 8);
         d.edit().insert(at, std::string(70000 - std::string_view("general.name").size(), 'a'));
       }},
      {"general.file_type is 1", [](Damaged& d) { d.put(d.pair("general.file_type").value_at, 1, 4); }},
      {"a token's type", [](Damaged& d) { d.put(d.pair("tokenizer.ggml.token_type").value_at + 12, 9, 4); }},
      {"_token_id' is 70000", [](Damaged& d) { d.put(d.pair("tokenizer.ggml.eos_token_id").value_at, 70000, 4); }},
      {"rope.dimension_count is 6", [](Damaged& d) { d.put(d.pair("llama.rope.dimension_count").value_at, 6, 4); }},
      {"vocab_size is 5", [](Damaged& d) { d.put(d.pair("llama.vocab_size").value_at, 5, 4); }},
      {"'blk.2.attn_q.weight' is missing", [](Damaged& d) { d.put(d.pair("llama.block_count").value_at, 3, 4); }},
      {"none that a Llama has", [](Damaged& d) { d.put(d.pair("llama.block_count").value_at, 1, 4); }},
      {"'blk.0.attn_k.weight' is missing", [](Damaged& d) { d.put(d.tensor("blk.0.attn_k.weight").name_at, "blk.0.attn_K.weight"); }},
      {"tensor 'blk.0.attn_v.weight' is there twice",
       [](Damaged& d) { d.put(d.tensor("blk.0.attn_k.weight").name_at, "blk.0.attn_v.weight"); }},
      {"has 5 dimensions", [](Damaged& d) { d.put(d.tensor("output_norm.weight").dimensions_at - 4, 5, 4); }},
      {"'blk.1.attn_k.weight' is [16, 36], not [36, 16]",
       [](Damaged& d) {
         d.put(d.tensor("blk.1.attn_k.weight").dimensions_at, 16, 8);
         d.put(d.tensor("blk.1.attn_k.weight").dimensions_at + 8, 36, 8);
       }},
      {"type number 29", [](Damaged& d) { d.put(d.tensor("blk.1.attn_k.weight").type_at, 29, 4); }},
      {"in blocks of 32", [](Damaged& d) { d.put(d.tensor("blk.1.attn_k.weight").type_at, 8, 4); }},
      {"one before it ends", [](Damaged& d) { d.put(d.tensor("blk.1.attn_k.weight").type_at, 1, 4); }},
      {"'output_norm.weight' has the type number 30, not F32", [](Damaged& d) { d.put(d.tensor("output_norm.weight").type_at, 30, 4); }},
      {"not aligned", [](Damaged& d) { d.put(d.tensor("blk.1.attn_k.weight").offset_at, d.tensor("blk.1.attn_k.weight").offset + 4, 8); }},
      {"one before it ends",
       [](Damaged& d) { d.put(d.tensor("blk.1.attn_k.weight").offset_at, d.tensor("blk.1.attn_k.weight").offset + 32, 8); }},
      {"one before it ends",
       [](Damaged& d) { d.put(d.tensor("blk.1.attn_k.weight").offset_at, d.tensor("blk.0.attn_k.weight").offset, 8); }},
      {"padding after the header", [](Damaged& d) { d.put(d.layout().header_end, 1, 1); }},
      {"padding after tensor 'blk.0.attn_norm.weight'",
       [](Damaged& d) {
         const std::size_t data = (d.layout().header_end + 31) / 32 * 32;
         d.put(data + static_cast<std::size_t>(d.tensor("blk.0.attn_norm.weight").offset) + 36 * 4 + 3, 1, 1);
       }},
      {"but its tensors end", [](Damaged& d) { d.edit().pop_back(); }},
      {"but its tensors end", [](Damaged& d) { d.edit() += std::string(32, '\0'); }},
  };
  return all;
}

TEST(GgufLayoutChecks, ObjectToEveryDamagedField) {
  ASSERT_EQ(complaints_about(Damaged().bytes()), "");
  ASSERT_NE(Damaged().layout().header_end % 32, 0u) << "the header needs padding to be damaged";
  for (const Mutation& mutation : byte_mutations()) {
    Damaged damaged;
    mutation.damage(damaged);
    const std::string complaints = complaints_about(damaged.bytes());
    EXPECT_NE(complaints.find(mutation.complaint), std::string::npos) << "wanted: " << mutation.complaint << "\ngot: " << complaints;
  }
}

TEST(GgufLayoutChecks, ObjectToWhatALlamaCannotHave) {
  struct Case {
    const char* complaint;
    std::function<void(EditedModel&)> edit;
  };
  const std::vector<Case> cases = {
      {"key 'tokenizer.ggml.scores' is missing", [](EditedModel& m) { m.remove("tokenizer.ggml.scores"); }},
      {"key 'general.architecture' is missing", [](EditedModel& m) { m.remove("general.architecture"); }},
      {"the architecture is 'gpt2'", [](EditedModel& m) { m.set("general.architecture", std::string("gpt2")); }},
      {"key 'llama.block_count' has the type 10", [](EditedModel& m) { m.set("llama.block_count", std::uint64_t{2}); }},
      {"has 2 items for",
       [](EditedModel& m) {
         m.set_array("tokenizer.ggml.token_type", {1, 1});
       }},
      {"'tokenizer.ggml.merges' is missing", [](EditedModel& m) { m.set("tokenizer.ggml.model", std::string("gpt2")); }},
      {"a tensor's name has 64 bytes", [](EditedModel& m) { m.tensor(std::string(64, 'x'), {4}); }},
      {"tensor 'output_norm.weight' is missing", [](EditedModel& m) { m.remove_tensor("output_norm.weight"); }},
      {"tensor 'blk.0.attn_rot_embd' is none", [](EditedModel& m) { m.tensor("blk.0.attn_rot_embd", {4}); }},
      {"'rope_freqs.weight' is [8], not [4]", [](EditedModel& m) { m.tensor("rope_freqs.weight", {8}); }},
      {"'output.weight' is [36, 5]",
       [](EditedModel& m) {
         m.tensor("output.weight", {36, 5});
       }},
      {"needs general.quantization_version",
       [](EditedModel& m) {
         m.tensor("output.weight", {64, 5}, {}, Type::q8_0);
       }},
  };
  for (const Case& each : cases) {
    EditedModel model = good_model();
    each.edit(model);
    const std::string complaints = complaints_about(Damaged(model).bytes());
    EXPECT_NE(complaints.find(each.complaint), std::string::npos) << "wanted: " << each.complaint << "\ngot: " << complaints;
  }
}

}  // namespace
}  // namespace skipstone::tests
