// Whole files: split models, what is no model, disks that fail, the tiny model of the tests, and real models.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "fixtures/failure.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "gguf/gguf.h"
#include "gguf/writer.h"

namespace skipstone::gguf {
namespace {

using fixtures::bytes_of;
using fixtures::Failure;
using fixtures::failure_of;
using fixtures::TemporaryDirectory;
using fixtures::write_tiny_model;

/// Writes part `index` of `count` with one tensor of its own; the keys can be made to lie.
void write_part(const std::string& path, std::uint16_t index, std::uint16_t count, std::int32_t total, const std::string& tensor) {
  Writer writer;
  if (index == 0) writer.set("general.name", std::string("whole"));
  writer.set("split.no", index);
  writer.set("split.count", count);
  writer.set("split.tensors.count", total);
  const std::vector<float> weights(8, static_cast<float>(index));
  writer.add_tensor(tensor, Type::f32, std::array<std::uint64_t, 1>{8}, std::span<const float>(weights));
  writer.write(path);
}

class Split : public ::testing::Test {
 protected:
  std::string part(int number) const { return directory.file(fmt::format("m-{:05}-of-00003.gguf", number)); }
  void SetUp() override {
    for (std::uint16_t i = 0; i < 3; ++i) write_part(part(i + 1), i, 3, 3, fmt::format("t{}", i));
  }
  Failure open_failure(const std::string& path) const {
    return failure_of([&] { File::open(path); });
  }
  TemporaryDirectory directory;
};

TEST_F(Split, AnyPartOpensAll) {
  std::set<std::string> fingerprints;
  for (int number = 1; number <= 3; ++number) {
    const File file = File::open(part(number));
    EXPECT_EQ(file.string("general.name", ""), "whole");
    ASSERT_EQ(file.tensors().size(), 3u);
    for (int i = 0; i < 3; ++i) {
      const Tensor* tensor = file.find_tensor(fmt::format("t{}", i));
      ASSERT_NE(tensor, nullptr);
      std::vector<float> weights(8);
      dequantize(*tensor, weights);
      EXPECT_EQ(weights, std::vector<float>(8, static_cast<float>(i)));
    }
    EXPECT_EQ(file.file_bytes(),
              std::filesystem::file_size(part(1)) + std::filesystem::file_size(part(2)) + std::filesystem::file_size(part(3)));
    fingerprints.insert(file.fingerprint());
  }
  EXPECT_EQ(fingerprints.size(), 1u);
}

TEST_F(Split, MissingPart) {
  std::filesystem::remove(part(2));
  const Failure failure = open_failure(part(1));
  EXPECT_EQ(failure.code, Code::not_found);
  EXPECT_NE(failure.message.find("m-00002-of-00003.gguf"), std::string::npos) << failure.message;
}

TEST_F(Split, NameWithoutNumbers) {
  std::filesystem::rename(part(1), directory.file("model.gguf"));
  const Failure failure = open_failure(directory.file("model.gguf"));
  EXPECT_EQ(failure.code, Code::bad_file);
  EXPECT_NE(failure.message.find("-of-00003.gguf"), std::string::npos) << failure.message;
}

TEST_F(Split, PartsThatDoNotBelong) {
  write_part(part(2), 0, 3, 3, "t1");  // says that it is the first
  EXPECT_EQ(open_failure(part(1)).code, Code::bad_file);
  write_part(part(2), 1, 4, 3, "t1");  // of four
  EXPECT_EQ(open_failure(part(1)).code, Code::bad_file);
  EXPECT_EQ(open_failure(part(2)).code, Code::bad_file);
  write_part(part(2), 1, 3, 3, "t0");  // the first part's tensor once more
  EXPECT_NE(open_failure(part(1)).message.find("'t0' is in two parts"), std::string::npos);
  write_tiny_model({.layers = 1}, part(2));  // not a part at all
  EXPECT_EQ(open_failure(part(1)).code, Code::bad_file);
}

TEST_F(Split, WrongTotal) {
  write_part(part(1), 0, 3, 4, "t0");
  const Failure failure = open_failure(part(1));
  EXPECT_EQ(failure.code, Code::bad_file);
  EXPECT_NE(failure.message.find("should have 4 tensors"), std::string::npos) << failure.message;
}

TEST(Open, WhatIsNoModel) {
  const TemporaryDirectory directory;
  const auto code = [](const std::string& path) {
    const Failure failure = failure_of([&] { File::open(path); });
    EXPECT_EQ(failure.message.find(path), 0u) << failure.message;
    return failure.code;
  };
  EXPECT_EQ(code(directory.file("absent.gguf")), Code::not_found);
  EXPECT_EQ(code(fixtures::text_of(directory.path())), Code::bad_file);
  EXPECT_EQ(code(fixtures::null_device), Code::bad_file);
  const auto write = [&](const std::string& bytes) {
    std::ofstream(directory.file("x"), std::ios::binary) << bytes;
    return directory.file("x");
  };
  EXPECT_EQ(code(write("")), Code::bad_file);
  EXPECT_EQ(code(write("GG")), Code::bad_file);
  EXPECT_EQ(code(write("GGUF")), Code::bad_file);
  EXPECT_EQ(code(write("<html>not found</html>")), Code::bad_file);
  EXPECT_EQ(code(write("tjgg\3\0\0\0")), Code::unsupported);
  EXPECT_NE(failure_of([&] { File::open(write("version https://git-lfs.github.com/spec/v1\n")); }).message.find("git lfs pull"),
            std::string::npos);
  using namespace std::string_literals;
  const auto version = [&](const std::string& four) {
    return failure_of([&] { File::open(write("GGUF" + four + std::string(16, '\0'))); });
  };
  EXPECT_EQ(version("\3\0\0\0"s).code, Code::ok);
  for (const std::string& bad : {"\0\0\0\0"s, "\1\0\0\0"s, "\4\0\0\0"s, "\0\0\0\3"s, "\xff\xff\xff\xff"s}) {
    EXPECT_EQ(version(bad).code, Code::unsupported);
  }
  EXPECT_NE(version("\0\0\0\3"s).message.find("big-endian"), std::string::npos);
  EXPECT_NE(version("\1\0\0\0"s).message.find("version 1"), std::string::npos);
}

TEST(WriterChecks, RefusesWhatNoReaderWouldTake) {
  const TemporaryDirectory directory;
  Writer writer;
  const std::vector<float> weights(64);
  const std::span<const float> some(weights);
  using Shape = std::vector<std::uint64_t>;
  const auto add = [&](const char* name, Type type, const Shape& shape) {
    return failure_of([&] { writer.add_tensor(name, type, shape, some); }).code;
  };
  EXPECT_EQ(add("ok", Type::q4_0, {32, 2}), Code::ok);
  EXPECT_EQ(add("ok", Type::q4_0, {32, 2}), Code::invalid_argument);
  EXPECT_EQ(add("", Type::f32, {64}), Code::invalid_argument);
  EXPECT_EQ(add("a", Type::f32, {}), Code::invalid_argument);
  EXPECT_EQ(add("a", Type::f32, {64, 1, 1, 1, 1}), Code::invalid_argument);
  EXPECT_EQ(add("a", Type::f32, {0, 64}), Code::invalid_argument);
  EXPECT_EQ(add("a", Type::f32, {63}), Code::invalid_argument);
  EXPECT_EQ(add("a", Type::q4_0, {16, 4}), Code::invalid_argument);
  EXPECT_EQ(add("a", Type::f32, {UINT64_MAX / 4, 8}), Code::invalid_argument);
  EXPECT_EQ(add("a", static_cast<Type>(31), {64}), Code::invalid_argument);
  EXPECT_EQ(add("a", Type::q4_k, {64}), Code::invalid_argument);
  EXPECT_EQ(failure_of([&] { writer.set("", true); }).code, Code::invalid_argument);
  for (const Value& bad : {Value(std::uint32_t{0}), Value(std::uint32_t{12}), Value(std::uint64_t{32}), Value(std::uint32_t{1u << 31})}) {
    writer.set("general.alignment", bad);
    EXPECT_EQ(failure_of([&] { writer.write(directory.file("x")); }).code, Code::invalid_argument);
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(WriterChecks, LeavesNothingBehindWhereItCannotWrite) {
  const TemporaryDirectory directory;
  Writer writer;
  writer.set("general.name", std::string("x"));
  EXPECT_EQ(failure_of([&] { writer.write(directory.file("no/such/folder/m.gguf")); }).code, Code::io);
  EXPECT_EQ(failure_of([&] { writer.write(fixtures::text_of(directory.path())); }).code, Code::io);
  EXPECT_EQ(failure_of([&] { writer.write(fixtures::null_device); }).code, Code::io);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(TinyModel, HasWhatItsConfigurationSays) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("tiny.gguf");
  for (const Type type : {Type::f32, Type::f16, Type::bf16, Type::q8_0, Type::q4_0}) {
    write_tiny_model({.layers = 3, .head_dim = 32, .vocab = 512, .tied = false, .biases = true, .rope_freqs = true, .type = type}, path);
    const File file = File::open(path);
    EXPECT_EQ(file.string("general.architecture", ""), "llama");
    EXPECT_EQ(file.required_integer("llama.block_count"), 3u);
    EXPECT_EQ(file.required_integer("llama.rope.dimension_count"), 32u);
    ASSERT_NE(file.strings("tokenizer.ggml.tokens"), nullptr);
    const auto& tokens = *file.strings("tokenizer.ggml.tokens");
    EXPECT_EQ(tokens.size(), 512u);
    EXPECT_EQ(std::set<std::string>(tokens.begin(), tokens.end()).size(), 512u);
    EXPECT_EQ(file.floats("tokenizer.ggml.scores").size(), 512u);
    EXPECT_EQ(file.integers("tokenizer.ggml.token_type").size(), 512u);
    EXPECT_EQ(tokens[3 + 0x41], "<0x41>");
    const auto expect = [&](const char* name, std::uint64_t k, std::uint64_t n, Type wanted) {
      const Tensor* tensor = file.find_tensor(name);
      ASSERT_NE(tensor, nullptr) << name;
      EXPECT_EQ(tensor->shape, (std::array<std::uint64_t, 4>{k, n, 1, 1})) << name;
      EXPECT_EQ(tensor->type, wanted) << name;
    };
    expect("token_embd.weight", 64, 512, type);
    expect("output.weight", 64, 512, type);
    expect("blk.2.attn_q.weight", 64, 128, type);
    expect("blk.2.attn_k.weight", 64, 64, type);
    expect("blk.2.attn_output.weight", 128, 64, type);
    expect("blk.2.ffn_down.weight", 128, 64, type);
    expect("blk.2.attn_q.bias", 128, 1, Type::f32);
    expect("blk.0.attn_norm.weight", 64, 1, Type::f32);
    expect("rope_freqs.weight", 16, 1, Type::f32);
    EXPECT_EQ(file.tensors().size(), 4u + 3 * 13);
  }
  write_tiny_model({}, path);
  const std::string once = bytes_of(path);
  EXPECT_EQ(File::open(path).find_tensor("output.weight"), nullptr);
  write_tiny_model({}, path);
  EXPECT_EQ(bytes_of(path), once) << "the same configuration has to give the same bytes";
  EXPECT_EQ(failure_of([&] { write_tiny_model({.vocab = 10}, path); }).code, Code::invalid_argument);
  EXPECT_EQ(failure_of([&] { write_tiny_model({.heads = 5}, path); }).code, Code::invalid_argument);
}

TEST(RealModels, Stories260K) {
  const std::string path = SKIPSTONE_SHARED_DATA "/models/stories260K.gguf";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
  const File file = File::open(path);
  EXPECT_EQ(file.string("general.architecture", ""), "llama");
  EXPECT_EQ(file.required_integer("llama.block_count"), 5u);
  EXPECT_EQ(file.required_integer("llama.embedding_length"), 64u);
  EXPECT_EQ(file.required_integer("llama.attention.head_count"), 8u);
  EXPECT_EQ(file.required_integer("llama.attention.head_count_kv"), 4u);
  ASSERT_NE(file.strings("tokenizer.ggml.tokens"), nullptr);
  EXPECT_EQ(file.strings("tokenizer.ggml.tokens")->size(), 512u);
  EXPECT_EQ(file.floats("tokenizer.ggml.scores").size(), 512u);
  const Tensor* embedding = file.find_tensor("token_embd.weight");
  ASSERT_NE(embedding, nullptr);
  EXPECT_EQ(embedding->type, Type::f32);
  EXPECT_EQ(embedding->row_length(), 64u);
  EXPECT_EQ(embedding->rows(), 512u);
  std::uint64_t bytes = 0;
  for (const Tensor& tensor : file.tensors()) bytes += tensor.data.size();
  EXPECT_GT(bytes, file.file_bytes() * 9 / 10);
}

TEST(RealModels, Py20) {
  const std::string path = SKIPSTONE_SHARED_DATA "/models/py20-f16.gguf";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
  const File file = File::open(path);
  EXPECT_EQ(file.required_integer("llama.block_count"), 20u);
  std::size_t matrices = 0;
  for (const Tensor& tensor : file.tensors()) {
    if (tensor.dimensions == 1) {
      EXPECT_EQ(tensor.type, Type::f32) << tensor.name;
    } else {
      EXPECT_EQ(tensor.type, Type::f16) << tensor.name;
      ++matrices;
    }
    std::vector<float> weights(static_cast<std::size_t>(tensor.elements()));
    dequantize(tensor, weights);
    for (const float w : weights) ASSERT_TRUE(std::isfinite(w) && std::fabs(w) < 100.0f) << tensor.name;
  }
  EXPECT_GE(matrices, 20u * 7 + 1);
}

TEST(RealModels, VocabularyFiles) {
  std::size_t opened = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(SKIPSTONE_SHARED_DATA "/tokenizers", error)) {
    if (entry.path().extension() != ".gguf") continue;
    const File file = File::open(entry.path().string());
    ASSERT_NE(file.strings("tokenizer.ggml.tokens"), nullptr) << entry.path();
    EXPECT_GT(file.strings("tokenizer.ggml.tokens")->size(), 30000u) << entry.path();
    for (const Pair& pair : file.metadata()) EXPECT_FALSE(to_display(pair.value).empty() && type_name(pair.value) != "string") << pair.key;
    ++opened;
  }
  if (opened == 0) GTEST_SKIP() << "no vocabularies in " SKIPSTONE_SHARED_DATA "/tokenizers";
}

}  // namespace
}  // namespace skipstone::gguf
