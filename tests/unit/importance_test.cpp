// Importance matrices: how they are measured, and their files.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "convert/input_statistics.h"
#include "edited_model.h"
#include "importance_fixture.h"
#include "ref/model.h"
#include "ref/operations.h"
#include "text/tokenizer.h"

namespace skipstone::convert {
namespace {

using fixtures::bytes_of;
using fixtures::Failure;
using fixtures::failure_of;
using gguf::File;
using gguf::Tensor;
using gguf::Type;

// The first layer's input by hand: the normalised embeddings of the whole chunks' tokens, the first of each a BOS.
TEST_F(Importance, IsTheMeanSquareOfTheInputs) {
  const ImportanceMatrix measured = measure_importance_matrix(measurement("one.gguf"));
  const File model = File::open(file("model.gguf"));
  const text::Tokenizer tokenizer(text::Vocabulary::from(model));
  ASSERT_TRUE(tokenizer.vocabulary().add_bos);
  std::vector<text::Token> tokens = tokenizer.encode(bytes_of(file("text.txt")), false, false);
  tokens.insert(tokens.begin(), tokenizer.vocabulary().bos);
  const std::size_t chunks = tokens.size() / 64;
  ASSERT_GT(chunks, 3u);
  EXPECT_EQ(measured.chunks, chunks);
  EXPECT_EQ(measured.chunk_tokens, 64u);
  EXPECT_EQ(measured.datasets, std::vector<std::string>{file("text.txt")});
  ASSERT_EQ(measured.entries.size(), 14u);
  for (const auto& [name, entry] : measured.entries) {
    EXPECT_EQ(entry.sums.size(), model.find_tensor(name)->row_length()) << name;
    EXPECT_EQ(entry.counts, std::vector<float>{static_cast<float>(64 * chunks)}) << name;
  }
  const std::vector<float> norm = weights_of(*model.find_tensor("blk.0.attn_norm.weight"));
  std::vector<double> sums(64, 0.0);
  for (std::size_t at = 0; at < 64 * chunks; ++at) {
    const text::Token token = at % 64 == 0 ? tokenizer.vocabulary().bos : tokens[at];
    std::vector<float> x(64);
    ref::rms_norm(ref::row(*model.find_tensor("token_embd.weight"), static_cast<std::uint64_t>(token)), norm, 1e-5f, x);
    for (std::size_t i = 0; i < x.size(); ++i) sums[i] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    for (const char* part : {"attn_q", "attn_k", "attn_v"}) {
      EXPECT_NEAR(measured.entries.at(fmt::format("blk.0.{}.weight", part)).sums[i], sums[i], 1e-4 * sums[i]) << part << i;
    }
  }
  EXPECT_EQ(measured.entries.at("blk.1.ffn_gate.weight").sums, measured.entries.at("blk.1.ffn_up.weight").sums);
  EXPECT_NE(measured.entries.at("blk.1.ffn_gate.weight").sums, measured.entries.at("blk.0.ffn_up.weight").sums);
}

TEST_F(Importance, ThreadsChangeNothingAndChunksAreCounted) {
  ImportanceOptions given = measurement("one.gguf");
  given.threads = 1;
  measure_importance_matrix(given);
  given = measurement("three.gguf");
  given.threads = 3;
  measure_importance_matrix(given);
  EXPECT_EQ(bytes_of(file("one.gguf")), bytes_of(file("three.gguf")));
  given = measurement("two.gguf");
  given.chunks = 2;
  std::uint64_t reports = 0;
  given.progress = [&](std::uint64_t, std::uint64_t total) {
    EXPECT_EQ(total, 2u);
    return ++reports < 100;
  };
  EXPECT_EQ(measure_importance_matrix(given).chunks, 2u);
  EXPECT_GT(reports, 0u);
  given = measurement("many.gguf");
  given.chunk_tokens = 8;
  given.threads = 5000;  // no more than the machine has cores
  std::vector<std::uint64_t> done;
  given.progress = [&](std::uint64_t now, std::uint64_t) {
    if (now > 0 && (done.empty() || done.back() != now)) done.push_back(now);
    return true;
  };
  const std::uint32_t many = measure_importance_matrix(given).chunks;
  ASSERT_EQ(done.size(), many) << "each sequence is reported";
  EXPECT_GT(many, 30u);
  given = measurement("long.gguf");
  given.chunk_tokens = 4096;  // the model's context has 256
  EXPECT_EQ(measure_importance_matrix(given).chunk_tokens, 256u);
}

TEST_F(Importance, FilesHaveTheFormOfLlamaImatrix) {
  const ImportanceMatrix measured = measure_importance_matrix(measurement("matrix.gguf"));
  const File written = File::open(file("matrix.gguf"));
  EXPECT_EQ(written.string("general.type", ""), "imatrix");
  EXPECT_EQ(*written.strings("imatrix.datasets"), measured.datasets);
  EXPECT_EQ(*written.find("imatrix.chunk_count"), gguf::Value(measured.chunks));
  EXPECT_EQ(*written.find("imatrix.chunk_size"), gguf::Value(std::uint32_t{64}));
  EXPECT_EQ(written.tensors().size(), 28u);
  const Tensor *sums = written.find_tensor("blk.1.ffn_down.weight.in_sum2"), *counts = written.find_tensor("blk.1.ffn_down.weight.counts");
  ASSERT_TRUE(sums != nullptr && counts != nullptr);
  EXPECT_EQ(sums->shape, (std::array<std::uint64_t, 4>{128, 1, 1, 1}));
  EXPECT_EQ(counts->shape, (std::array<std::uint64_t, 4>{1, 1, 1, 1}));
  EXPECT_EQ(sums->dimensions, 1u);
  EXPECT_EQ(counts->dimensions, 1u);
  const ImportanceMatrix read = read_importance_matrix(file("matrix.gguf"));
  EXPECT_EQ(read.chunks, measured.chunks);
  EXPECT_EQ(read.datasets, measured.datasets);
  ASSERT_EQ(read.entries.size(), measured.entries.size());
  for (const auto& [name, entry] : measured.entries) {
    EXPECT_EQ(read.entries.at(name).sums, entry.sums);
    EXPECT_EQ(read.entries.at(name).counts, entry.counts);
  }
}

std::string binary_form(const std::vector<std::pair<std::string, std::vector<float>>>& entries, std::int32_t calls, bool whole = true) {
  std::string bytes;
  const auto integer = [&](std::size_t number) {
    const auto narrow = static_cast<std::int32_t>(number);
    bytes.append(reinterpret_cast<const char*>(&narrow), sizeof narrow);
  };
  integer(entries.size());
  for (const auto& [name, values] : entries) {
    integer(name.size());
    bytes += name;
    integer(static_cast<std::size_t>(calls));
    integer(values.size());
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  }
  if (!whole) return bytes;
  integer(12);
  integer(8);
  return bytes + "some.txt";
}

TEST_F(Importance, TheOlderBinaryFormIsReadToo) {
  std::ofstream(file("old.dat"), std::ios::binary) << binary_form({{"blk.0.a", {3.0f, 6.0f}}, {"blk.1.a", {9.0f}}}, 3);
  const ImportanceMatrix read = read_importance_matrix(file("old.dat"));
  EXPECT_EQ(read.chunks, 12u);
  EXPECT_EQ(read.datasets, std::vector<std::string>{"some.txt"});
  EXPECT_EQ(read.entries.at("blk.0.a").means(), (std::vector<float>{1.0f, 2.0f}));
  EXPECT_EQ(read.entries.at("blk.1.a").means(), (std::vector<float>{3.0f}));
  std::ofstream(file("oldest.dat"), std::ios::binary) << binary_form({{"blk.0.a", {3.0f, 6.0f}}}, 0, false);
  EXPECT_EQ(read_importance_matrix(file("oldest.dat")).entries.at("blk.0.a").means(), (std::vector<float>{3.0f, 6.0f}));
  const std::string whole = binary_form({{"blk.0.a", {3.0f, 6.0f}}}, 3, false);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    std::ofstream(file("cut.dat"), std::ios::binary) << whole.substr(0, size);
    EXPECT_EQ(failure_of([&] { read_importance_matrix(file("cut.dat")); }).code, Code::bad_file) << size;
  }
}

TEST_F(Importance, DamagedFilesAreRefused) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  struct Case {
    std::vector<float> sums, counts;
    const char* part;
  };
  for (const Case& each :
       {Case{{1, -1}, {1}, "sum of squares of -1"}, Case{{1, nan}, {1}, "sum of squares of nan"},
        Case{{infinity, 1}, {1}, "sum of squares of inf"}, Case{{1, 1}, {nan}, "count of nan"}, Case{{1, 1}, {-2}, "count of -2"},
        Case{{1, 1e30f}, {1e-40f}, "mean square of inf"}, Case{{1, 1, 1}, {1, 1}, "3 sums for 2 counts"}}) {
    gguf::Writer writer;
    const std::array<std::uint64_t, 1> sums{each.sums.size()}, counts{each.counts.size()};
    writer.add_tensor("blk.0.x.weight.in_sum2", Type::f32, sums, std::span<const float>(each.sums));
    writer.add_tensor("blk.0.x.weight.counts", Type::f32, counts, std::span<const float>(each.counts));
    writer.write(file("bad.gguf"));
    const Failure failure = failure_of([&] { read_importance_matrix(file("bad.gguf")); });
    EXPECT_EQ(failure.code, Code::bad_file) << each.part;
    for (const std::string& part : {std::string(each.part), std::string("'blk.0.x.weight'"), file("bad.gguf")}) {
      EXPECT_NE(failure.message.find(part), std::string::npos) << failure.message;
    }
  }
  const auto refuse = [&](const std::string& path, Code code, const char* part) {
    const Failure failure = failure_of([&] { read_importance_matrix(path); });
    EXPECT_EQ(failure.code, code) << failure.message;
    EXPECT_NE(failure.message.find(part), std::string::npos) << failure.message;
  };
  refuse(file("model.gguf"), Code::bad_file, "has no importance matrix in it");
  refuse(file("text.txt"), Code::bad_file, "is no importance matrix");
  refuse(file("absent.gguf"), Code::not_found, "absent.gguf");
  const std::vector<float> one{1.0f};
  gguf::Writer alone;
  alone.add_tensor("blk.0.x.weight.in_sum2", Type::f32, std::array<std::uint64_t, 1>{1}, std::span<const float>(one));
  alone.write(file("alone.gguf"));
  refuse(file("alone.gguf"), Code::bad_file, "sums and no counts");
  gguf::Writer halves;
  halves.add_tensor("blk.0.x.weight.in_sum2", Type::f16, std::array<std::uint64_t, 1>{1}, std::span<const float>(one));
  halves.add_tensor("blk.0.x.weight.counts", Type::f32, std::array<std::uint64_t, 1>{1}, std::span<const float>(one));
  halves.write(file("halves.gguf"));
  refuse(file("halves.gguf"), Code::bad_file, "is of type F16");
}

TEST_F(Importance, WhatCannotBeMeasuredIsRefused) {
  const auto refuse = [&](const ImportanceOptions& given, Code code, const char* part) {
    const std::size_t before = files();
    const Failure failure = failure_of([&] { measure_importance_matrix(given); });
    EXPECT_EQ(failure.code, code) << failure.message;
    EXPECT_NE(failure.message.find(part), std::string::npos) << failure.message;
    EXPECT_EQ(files(), before) << failure.message;
  };
  std::ofstream(file("short.txt")) << "too short";
  std::ofstream(file("bytes.txt"), std::ios::binary) << "good until here \xff\xfe";
  ImportanceOptions given = measurement("out.gguf");
  given.text = file("short.txt");
  refuse(given, Code::invalid_argument, "take a longer text");
  given.text = file("bytes.txt");
  refuse(given, Code::invalid_argument, "UTF-8");
  given.text = file("absent.txt");
  refuse(given, Code::not_found, "absent.txt");
  given = measurement("model.gguf");
  given.overwrite = true;
  refuse(given, Code::invalid_argument, "is the input");
  given = measurement("text.txt");
  given.overwrite = true;
  refuse(given, Code::invalid_argument, "is the input");
  std::ofstream(file("there.gguf")) << "there";
  refuse(measurement("there.gguf"), Code::invalid_argument, "is there already");
  given = measurement("out.gguf");
  given.chunk_tokens = 1;
  refuse(given, Code::invalid_argument, "at least 2 tokens");
  given = measurement("out.gguf");
  given.progress = [](std::uint64_t, std::uint64_t) { return false; };
  refuse(given, Code::cancelled, "cancelled");
  given = measurement("no/such/folder.gguf");  // before the text is read
  given.progress = [](std::uint64_t, std::uint64_t) {
    ADD_FAILURE() << "the text is read for nothing";
    return true;
  };
  refuse(given, Code::io, fixtures::no_such_folder().c_str());
}

TEST(InputSquares, EveryMatrixOfRecurrentLayersHasItsInputs) {
  for (const char* family : {"lfm2", "qwen35", "granitehybrid", "nemotron_h"}) {
    const File model = tests::EditedModel(fixtures::tiny_family(family)).open();
    const auto squares = input_squares(ref::Model(model, KvFormat::f32), model, {{5, 70, 99, 4}}, 1, {});
    for (const Tensor& tensor : model.tensors()) {
      const bool taps = tensor.name.find("conv1d") != std::string::npos || tensor.name.ends_with("shortconv.conv.weight");
      const bool of_head = tensor.name.starts_with("blk.5.");  // of multi-token prediction, which nothing runs
      if (tensor.dimensions < 2 || !tensor.name.starts_with("blk.") || taps || of_head || tensor.name.find("norm") != std::string::npos)
        continue;
      const auto found = squares.find(tensor.name);
      ASSERT_NE(found, squares.end()) << family << " " << tensor.name;
      EXPECT_EQ(found->second.sums.size(), tensor.row_length()) << tensor.name;
      EXPECT_EQ(found->second.rows, 4u) << tensor.name;
    }
  }
}

}  // namespace
}  // namespace skipstone::convert
