#include "report/fixed_model.h"

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/hash.h"

namespace cli::report {
namespace {

constexpr std::uint32_t layers = 4, width = 64, heads = 8, kv_heads = 4, ffn = 192, vocabulary = 259;
constexpr std::uint32_t kv_width = width / heads * kv_heads;

// docs/gguf.md of ggml. Numbers are little-endian.
enum ValueType : std::uint32_t { u32_value = 4, i32_value = 5, f32_value = 6, text_value = 8, list_value = 9 };
enum TensorType : std::uint32_t { f32_tensor = 0, q8_0_tensor = 8 };
constexpr std::size_t alignment = 32, block = 32;

template <typename T>
void add_number(std::string& out, T number) {
  for (std::size_t byte = 0; byte < sizeof(T); ++byte) out += static_cast<char>(static_cast<std::uint64_t>(number) >> 8 * byte);
}

void add_text(std::string& out, std::string_view text) {
  add_number(out, static_cast<std::uint64_t>(text.size()));
  out += text;
}

void pad(std::string& out) { out.resize((out.size() + alignment - 1) / alignment * alignment); }

class File {
 public:
  void text(std::string_view name, std::string_view value) {
    begin(name, text_value);
    add_text(pairs_, value);
  }
  void number(std::string_view name, std::uint32_t value) {
    begin(name, u32_value);
    add_number(pairs_, value);
  }
  void number(std::string_view name, float value) {
    begin(name, f32_value);
    add_number(pairs_, std::bit_cast<std::uint32_t>(value));
  }
  /// The caller adds the elements with add_number() or add_text().
  std::string& list(std::string_view name, ValueType of, std::uint64_t count) {
    begin(name, list_value);
    add_number(pairs_, static_cast<std::uint32_t>(of));
    add_number(pairs_, count);
    return pairs_;
  }

  /// Adds a norm whose weights are all ones.
  void norm(const std::string& name) {
    describe(name, {width}, f32_tensor);
    for (std::uint32_t i = 0; i < width; ++i) add_number(data_, std::bit_cast<std::uint32_t>(1.0f));
  }

  /// `scale`: the scale of all blocks, a half-precision float.
  void matrix(const std::string& name, std::uint64_t columns, std::uint64_t rows, std::uint16_t scale) {
    describe(name, {columns, rows}, q8_0_tensor);
    for (std::uint64_t i = 0; i < columns * rows; ++i) {
      if (i % block == 0) add_number(data_, scale);
      data_ += static_cast<char>(static_cast<int>(skipstone::split_mix(next_++) % 255) - 127);
    }
  }

  std::string bytes() const {
    std::string out = "GGUF";
    add_number(out, std::uint32_t{3});
    add_number(out, tensor_count_);
    add_number(out, pair_count_);
    out += pairs_ + tensors_;
    pad(out);
    return out + data_;
  }

 private:
  void begin(std::string_view name, ValueType type) {
    ++pair_count_;
    add_text(pairs_, name);
    add_number(pairs_, static_cast<std::uint32_t>(type));
  }

  void describe(const std::string& name, const std::vector<std::uint64_t>& sizes, TensorType type) {
    ++tensor_count_;
    pad(data_);
    add_text(tensors_, name);
    add_number(tensors_, static_cast<std::uint32_t>(sizes.size()));
    for (const std::uint64_t size : sizes) add_number(tensors_, size);
    add_number(tensors_, static_cast<std::uint32_t>(type));
    add_number(tensors_, static_cast<std::uint64_t>(data_.size()));
  }

  std::string pairs_, tensors_, data_;
  std::uint64_t pair_count_ = 0, tensor_count_ = 0, next_ = 0;
};

void add_shape(File& file) {
  file.text("general.architecture", "llama");
  file.text("general.name", fixed_model_name);
  file.number("llama.context_length", 512u);
  file.number("llama.embedding_length", width);
  file.number("llama.block_count", layers);
  file.number("llama.feed_forward_length", ffn);
  file.number("llama.attention.head_count", heads);
  file.number("llama.attention.head_count_kv", kv_heads);
  file.number("llama.attention.layer_norm_rms_epsilon", 1e-5f);
}

void add_tokens(File& file) {
  constexpr std::uint32_t named = vocabulary - 256;
  constexpr std::uint32_t unknown = 2, control = 3, byte = 6;  // llama.cpp's token types
  file.text("tokenizer.ggml.model", "llama");
  std::string& tokens = file.list("tokenizer.ggml.tokens", text_value, vocabulary);
  for (const char* name : {"<unk>", "<s>", "</s>"}) add_text(tokens, name);
  for (std::uint32_t i = 0; i < 256; ++i) add_text(tokens, fmt::format("<0x{:02X}>", i));
  std::string& scores = file.list("tokenizer.ggml.scores", f32_value, vocabulary);
  for (std::uint32_t i = 0; i < vocabulary; ++i) add_number(scores, std::uint32_t{0});
  std::string& kinds = file.list("tokenizer.ggml.token_type", i32_value, vocabulary);
  for (std::uint32_t i = 0; i < vocabulary; ++i) add_number(kinds, i >= named ? byte : i == 0 ? unknown : control);
}

}  // namespace

std::string fixed_model() {
  constexpr std::uint16_t wide = 0x1800, narrow = 0x1400;  // 2^-9 and 2^-10: weights of about 1 / sqrt(columns)
  File file;
  add_shape(file);
  add_tokens(file);
  file.matrix("token_embd.weight", width, vocabulary, wide);
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    const std::string prefix = fmt::format("blk.{}.", layer);
    file.norm(prefix + "attn_norm.weight");
    file.matrix(prefix + "attn_q.weight", width, width, wide);
    file.matrix(prefix + "attn_k.weight", width, kv_width, wide);
    file.matrix(prefix + "attn_v.weight", width, kv_width, wide);
    file.matrix(prefix + "attn_output.weight", width, width, wide);
    file.norm(prefix + "ffn_norm.weight");
    file.matrix(prefix + "ffn_gate.weight", width, ffn, wide);
    file.matrix(prefix + "ffn_up.weight", width, ffn, wide);
    file.matrix(prefix + "ffn_down.weight", ffn, width, narrow);
  }
  file.norm("output_norm.weight");
  return file.bytes();
}

}  // namespace cli::report
