// 2:4 sparse weights: blocks, how a GGUF file holds them, which weights quantising keeps, and what is refused.
#include "gguf/sparse.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "base/philox.h"
#include "base/status.h"
#include "convert/quantize.h"
#include "edited_model.h"
#include "fixtures/failure.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "model/config.h"
#include "ref/operations.h"
#include "text/tokenizer.h"

namespace skipstone::convert {
namespace {

using fixtures::Failure;
using fixtures::failure_of;
using gguf::File;
using gguf::Tensor;
using gguf::Type;

constexpr std::array sparse_types = {Type::sparse_f16, Type::sparse_q8_0};

std::vector<float> random_weights(std::size_t count, std::uint32_t seed) {
  std::vector<float> weights(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t word = philox({static_cast<std::uint32_t>(i), seed, 0, 0}, {1, 2})[0];
    weights[i] = static_cast<float>(static_cast<std::int32_t>(word)) * 0x1p-31f;
  }
  return weights;
}

std::vector<float> there_and_back(Type type, const std::vector<float>& weights, std::vector<std::byte>* kept = nullptr) {
  std::vector<std::byte> bytes(gguf::row_bytes(type, weights.size()));
  gguf::quantize(type, weights, bytes);
  std::vector<float> back(weights.size());
  gguf::dequantize(type, bytes, back);
  if (kept != nullptr) *kept = bytes;
  return back;
}

TEST(SparseBlocks, KeepTheTwoLargestOfFour) {
  const std::vector<float> weights = random_weights(64 * 50, 1);
  for (const Type type : sparse_types) {
    const std::vector<float> back = there_and_back(type, weights);
    for (std::size_t group = 0; group < weights.size(); group += 4) {
      std::array<float, 4> sizes;
      for (std::size_t i = 0; i < 4; ++i) sizes[i] = std::fabs(weights[group + i]);
      std::ranges::sort(sizes);
      for (std::size_t i = group; i < group + 4; ++i) {
        if (std::fabs(weights[i]) < sizes[2]) {
          EXPECT_EQ(back[i], 0.0f) << i;
        } else {
          EXPECT_NEAR(back[i], weights[i], type == Type::sparse_f16 ? 0x1p-12f : 0.5f / 127 + 0x1p-11f) << i;
          EXPECT_NE(back[i], 0.0f) << i;
        }
      }
    }
  }
}

TEST(SparseBlocks, ByteForByte) {
  std::vector<float> weights(32, 0.0f);
  weights[1] = 1.0f;  // group 0: places 1 and 3
  weights[3] = -2.0f;
  weights[6] = 0.5f;                  // group 1: places 0 and 2, since an equal one that is before another stays
  std::fill_n(&weights[8], 4, 3.0f);  // group 2: places 0 and 1
  std::vector<std::byte> bytes;
  const std::vector<float> back = there_and_back(Type::sparse_f16, weights, &bytes);
  ASSERT_EQ(bytes.size(), 36u);
  EXPECT_EQ(bytes[0], std::byte{0x8d});      // 1 | 3 << 2, then 0 | 2 << 2
  EXPECT_EQ(bytes[1], std::byte{0x44});      // 0 | 1 << 2, and the same for a group of zeros
  EXPECT_EQ(bytes[4 + 1], std::byte{0x3c});  // 1.0
  EXPECT_EQ(bytes[6 + 1], std::byte{0xc0});  // -2.0
  EXPECT_EQ(back[9], 3.0f);
  EXPECT_EQ(back[10], 0.0f);
  std::vector<float> two(64, 0.0f);
  two[63] = -127.0f;
  EXPECT_EQ(there_and_back(Type::sparse_q8_0, two, &bytes), two);
  ASSERT_EQ(bytes.size(), 42u);
  EXPECT_EQ(bytes[9], std::byte{0xc4});  // 0 | 3 << 2 in the last group
  EXPECT_EQ(bytes[41], std::byte{0x81});
}

TEST(SparseBlocks, PlacesOutOfOrderAreFoundWhereverTheyAre) {
  for (const Type type : sparse_types) {
    const gguf::Traits& traits = gguf::traits(type);
    const std::size_t groups = traits.block / 4, first = type == Type::sparse_f16 ? 0 : 2;
    std::vector<std::byte> good;
    there_and_back(type, random_weights(std::size_t{traits.block} * 6, 3), &good);
    Tensor tensor;
    tensor.type = type;
    tensor.dimensions = 2;
    tensor.shape = {std::uint64_t{traits.block} * 2, 3, 1, 1};  // three rows of two blocks
    for (std::size_t block = 0; block < 6; ++block) {
      for (std::size_t group = 0; group < groups; ++group) {
        for (unsigned places = 0; places < 16; ++places) {
          std::vector<std::byte> bytes = good;
          std::byte& at = bytes[block * traits.bytes + first + group / 2];
          const unsigned shift = group % 2 * 4;
          at = (at & ~(std::byte{15} << shift)) | std::byte{static_cast<unsigned char>(places)} << shift;
          tensor.data = bytes;
          const auto found = gguf::find_misplaced(tensor);
          const bool in_order = (places & 3) < places >> 2;
          ASSERT_EQ(found.has_value(), !in_order) << block << " " << group << " " << places;
          if (found) {
            ASSERT_EQ(*found, block / 2);
          }
        }
      }
    }
  }
}

class SparseFile : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_.file(name); }

  QuantizeOptions options(const std::string& input, const std::string& output, FileType type = FileType::f16) const {
    QuantizeOptions made;
    made.input = input;
    made.output = output;
    made.type = type;
    made.sparse = Scores::magnitude;
    return made;
  }

  /// A tiny model with sparse matrices of F16, in bytes.
  std::string sparse_bytes() const {
    fixtures::write_tiny_model({.layers = 1, .type = Type::sparse_f16}, file("sparse.gguf"));
    return fixtures::bytes_of(file("sparse.gguf"));
  }

  /// What opening such a model says when every `from` in its bytes is replaced by `to`, of the same length.
  Failure damaged(const std::string& from, const std::string& to) const {
    std::string bytes = sparse_bytes();
    EXPECT_EQ(from.size(), to.size());
    std::size_t at = bytes.find(from);
    EXPECT_NE(at, std::string::npos);
    for (; at != std::string::npos; at = bytes.find(from, at + to.size())) bytes.replace(at, to.size(), to);
    return opened(bytes);
  }
  Failure opened(const std::string& bytes) const {
    std::ofstream(file("damaged.gguf"), std::ios::binary) << bytes;
    return failure_of([&] {
      const File damaged = File::open(file("damaged.gguf"));
      model::find_tensors(damaged, model::Config::from(damaged));
    });
  }

  fixtures::TemporaryDirectory folder_;
};

std::vector<float> weights_of(const Tensor& tensor) { return ref::weights(tensor); }

bool in_layer(const Tensor& tensor) { return tensor.name.starts_with("blk.") && tensor.dimensions == 2; }

TEST_F(SparseFile, MatricesOfLayersBecomeSparse) {
  fixtures::write_tiny_model({.layers = 2, .dim = 96, .ffn = 128, .tied = false}, file("dense.gguf"));
  const File dense = File::open(file("dense.gguf"));
  for (const FileType type : {FileType::f16, FileType::q8_0}) {
    const std::string output = file(std::string(traits(type).name) + ".gguf");
    quantize(options(file("dense.gguf"), output, type));
    const File sparse = File::open(output);
    EXPECT_EQ(sparse.integer("skipstone.sparse.version", 0), 1u);
    EXPECT_EQ(sparse.string("skipstone.sparse.pattern", ""), "2:4");
    std::size_t count = 0;
    for (const Tensor& tensor : sparse.tensors()) {
      const Tensor& was = *dense.find_tensor(tensor.name);
      ASSERT_EQ(tensor.shape, was.shape) << tensor.name;
      if (!in_layer(tensor)) {
        EXPECT_FALSE(gguf::is_sparse(tensor.type)) << tensor.name;
        continue;
      }
      ++count;
      // Rows of 96 are no blocks of 64.
      const bool bytes = type == FileType::q8_0 && tensor.row_length() % 64 == 0;
      ASSERT_EQ(tensor.type, bytes ? Type::sparse_q8_0 : Type::sparse_f16) << tensor.name;
      EXPECT_EQ(weights_of(tensor), there_and_back(tensor.type, weights_of(was))) << tensor.name;
    }
    EXPECT_EQ(count, 14u);
    model::find_tensors(sparse, model::Config::from(sparse));
  }
}

TEST_F(SparseFile, RowsThatAreNoBlocksStayDense) {
  fixtures::write_tiny_model({.layers = 1, .ffn = 172}, file("dense.gguf"));
  quantize(options(file("dense.gguf"), file("out.gguf"), FileType::q8_0));
  const File out = File::open(file("out.gguf"));
  EXPECT_EQ(out.find_tensor("blk.0.ffn_down.weight")->type, Type::f16);
  EXPECT_EQ(out.find_tensor("blk.0.ffn_up.weight")->type, Type::sparse_q8_0);
}

TEST_F(SparseFile, BackToDenseNoKeyIsLeftAndTheZerosStay) {
  fixtures::write_tiny_model({.layers = 1}, file("dense.gguf"));
  quantize(options(file("dense.gguf"), file("sparse.gguf")));
  QuantizeOptions back = options(file("sparse.gguf"), file("back.gguf"));
  back.sparse.reset();
  quantize(back);
  const File sparse = File::open(file("sparse.gguf")), dense = File::open(file("back.gguf"));
  for (const gguf::Pair& pair : dense.metadata()) EXPECT_FALSE(pair.key.starts_with("skipstone.")) << pair.key;
  for (const Tensor& tensor : dense.tensors()) {
    EXPECT_FALSE(gguf::is_sparse(tensor.type));
    EXPECT_EQ(weights_of(tensor), weights_of(*sparse.find_tensor(tensor.name))) << tensor.name;
  }
  // And once more sparse changes nothing.
  quantize(options(file("sparse.gguf"), file("again.gguf")));
  quantize(options(file("back.gguf"), file("other.gguf")));
  EXPECT_EQ(fixtures::bytes_of(file("again.gguf")), fixtures::bytes_of(file("sparse.gguf")));
  EXPECT_EQ(fixtures::bytes_of(file("other.gguf")), fixtures::bytes_of(file("sparse.gguf")));
}

TEST_F(SparseFile, OtherProgramsSeeBytesOfAShapeThatNoMatrixHas) {
  const Failure failure = damaged("skipstone.sparse.", "somebody.sparse..");
  EXPECT_EQ(failure.code, Code::unsupported) << failure.message;
  EXPECT_NE(failure.message.find("has type I8"), std::string::npos) << failure.message;
  const File seen = File::open(file("damaged.gguf"));
  EXPECT_EQ(seen.find_tensor("blk.0.attn_q.weight")->shape[0], 64u / 32 * 36);
}

TEST_F(SparseFile, DamagedOnesAreRefused) {
  const auto expect = [](const Failure& failure, Code code, const std::string& part) {
    EXPECT_EQ(failure.code, code) << failure.message;
    EXPECT_NE(failure.message.find(part), std::string::npos) << failure.message;
  };
  expect(opened(sparse_bytes()), Code::ok, "");
  expect(damaged("skipstone.sparse.version", "skipstone.sparse.versioN"), Code::bad_file, "'skipstone.sparse.version' is missing");
  std::string next = "skipstone.sparse.version";
  next += std::string("\4\0\0\0", 4);
  expect(damaged(next + std::string("\1\0\0\0", 4), next + std::string("\2\0\0\0", 4)), Code::unsupported, "of version 2");
  expect(damaged("2:4", "1:4"), Code::unsupported, "pattern '1:4'");
  std::string bytes = sparse_bytes();
  const std::size_t listed = bytes.find("blk.0.ffn_up.weight");
  expect(opened(std::string(bytes).replace(listed, 5, "blk.7")), Code::bad_file,
         "'blk.7.ffn_up.weight' of the metadata is not in the file");
  std::string twice = bytes;
  twice.replace(twice.find("blk.0.attn_k.weight"), 19, "blk.0.attn_q.weight");
  expect(opened(twice), Code::bad_file, "'blk.0.attn_q.weight' is named twice");
  const File good = File::open(file("sparse.gguf"));
  const Tensor& tensor = *good.find_tensor("blk.0.ffn_up.weight");
  const std::vector<std::byte> stored = tensor.data.all();
  const std::string data(reinterpret_cast<const char*>(stored.data()), stored.size());
  std::string misplaced = bytes;
  misplaced[bytes.find(data) + 3 * 72 + 36 + 2] = '\x5d';  // a pair of 1 and 1 in row 3
  expect(opened(misplaced), Code::bad_file, "'blk.0.ffn_up.weight' has a group in row 3 whose two places are not in order");
  const Failure quantised = failure_of([&] { quantize(options(file("damaged.gguf"), file("out.gguf"))); });
  expect(quantised, Code::bad_file, "in row 3");
}

TEST_F(SparseFile, TensorsOfTheWrongKindAreRefused) {
  const auto refused = [&](const std::vector<std::uint64_t>& shape, Type type, const std::string& part) {
    gguf::Writer writer;
    writer.set("skipstone.sparse.version", std::uint32_t{1});
    writer.set("skipstone.sparse.pattern", std::string("2:4"));
    writer.set_strings("skipstone.sparse.q8_0", {"a.weight"});
    std::uint64_t rows = 1;
    for (const std::uint64_t extent : std::span(shape).subspan(1)) rows *= extent;
    const std::vector<std::byte> bytes(gguf::row_bytes(type, shape[0]) * rows);
    writer.add_tensor("a.weight", type, shape, bytes);
    writer.write(file("wrong.gguf"));
    const Failure failure = failure_of([&] { File::open(file("wrong.gguf")); });
    EXPECT_EQ(failure.code, Code::bad_file) << failure.message;
    EXPECT_NE(failure.message.find(part), std::string::npos) << failure.message;
  };
  refused({42, 4}, Type::f32, "is stored as F32, not as I8");
  refused({43, 4}, Type::i8, "rows of 43 bytes in 2 dimensions, which are no matrix of SPARSE_Q8_0 in blocks of 42 bytes");
  refused({42}, Type::i8, "in 1 dimensions");
  refused({42, 2, 2}, Type::i8, "in 3 dimensions");
}

TEST(Pruning, ScoresAreWeightTimesNorm) {
  std::vector<float> row{4, -3, 2, 1, 1, 1, 1, 1, 5, 0, -6, 7};
  const std::vector<float> norms{1, 1, 3, 10, 1, 1, 1, 1, 0, 9, 1, 1};
  prune_row(row, norms);
  EXPECT_EQ(row, (std::vector<float>{0, 0, 2, 1, 1, 1, 0, 0, 0, 0, -6, 7}));
}

class Wanda : public SparseFile {
 protected:
  void SetUp() override {
    fixtures::write_tiny_model({.layers = 2}, file("dense.gguf"));
    std::string text;
    for (int i = 0; i < 60; ++i) text += fmt::format("the quick brown fox jumps over {} lazy dogs. ", i);
    std::ofstream(file("text.txt")) << text;
  }
  QuantizeOptions wanda(const std::string& output, unsigned threads) const {
    QuantizeOptions made = options(file("dense.gguf"), output);
    made.sparse = Scores::wanda;
    made.calibration = file("text.txt");
    made.threads = threads;
    return made;
  }
};

// The first layer's input by hand: the normalised embeddings of the text's tokens.
TEST_F(Wanda, NormsAreThoseOfTheInputs) {
  const File dense = File::open(file("dense.gguf"));
  const auto norms = input_norms(dense, file("text.txt"), 2, {});
  ASSERT_EQ(norms.size(), 14u);
  for (const auto& [name, list] : norms) EXPECT_EQ(list.size(), dense.find_tensor(name)->row_length()) << name;
  const text::Tokenizer tokenizer(text::Vocabulary::from(dense));
  const std::vector<text::Token> tokens = tokenizer.encode(fixtures::bytes_of(file("text.txt")), false, false);
  const std::size_t length = calibration_tokens - 1;  // and a BOS
  ASSERT_GT(tokens.size(), 2 * length);
  const std::vector<float> norm = weights_of(*dense.find_tensor("blk.0.attn_norm.weight"));
  std::vector<double> sums(64, 0.0);
  const auto take = [&](text::Token token) {
    std::vector<float> x(64);
    ref::rms_norm(ref::row(*dense.find_tensor("token_embd.weight"), static_cast<std::uint64_t>(token)), norm, 1e-5f, x);
    for (std::size_t i = 0; i < x.size(); ++i) sums[i] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  };
  const std::size_t used = std::min(tokens.size(), length * calibration_sequences);
  for (std::size_t i = 0; i < used; ++i) {
    if (i % length == 0) take(tokenizer.vocabulary().bos);
    take(tokens[i]);
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    for (const char* name : {"attn_q", "attn_k", "attn_v"}) {
      EXPECT_NEAR(norms.at(fmt::format("blk.0.{}.weight", name))[i], std::sqrt(sums[i]), 1e-4 * std::sqrt(sums[i])) << i;
    }
  }
  EXPECT_EQ(norms.at("blk.1.ffn_gate.weight"), norms.at("blk.1.ffn_up.weight"));
  EXPECT_NE(norms.at("blk.1.ffn_gate.weight"), norms.at("blk.0.ffn_up.weight"));
}

TEST_F(Wanda, KeepsTheBestScoresOnAnyNumberOfThreads) {
  quantize(wanda(file("one.gguf"), 1));
  quantize(wanda(file("three.gguf"), 3));
  quantize(options(file("dense.gguf"), file("magnitude.gguf")));
  EXPECT_EQ(fixtures::bytes_of(file("one.gguf")), fixtures::bytes_of(file("three.gguf")));
  EXPECT_NE(fixtures::bytes_of(file("one.gguf")), fixtures::bytes_of(file("magnitude.gguf")));
  const File dense = File::open(file("dense.gguf")), sparse = File::open(file("one.gguf"));
  const auto norms = input_norms(dense, file("text.txt"), 2, {});
  for (const Tensor& tensor : sparse.tensors()) {
    if (!in_layer(tensor)) continue;
    const std::vector<float> was = weights_of(*dense.find_tensor(tensor.name)), is = weights_of(tensor);
    const std::vector<float>& of_inputs = norms.at(tensor.name);
    for (std::size_t group = 0; group < was.size(); group += 4) {
      float least_kept = INFINITY, most_dropped = 0.0f;
      for (std::size_t i = group; i < group + 4; ++i) {
        const float score = std::fabs(was[i]) * of_inputs[i % of_inputs.size()];
        if (is[i] != 0.0f) {
          least_kept = std::min(least_kept, score);
        } else {
          most_dropped = std::max(most_dropped, score);
        }
      }
      ASSERT_LE(most_dropped, least_kept) << tensor.name << " " << group;
    }
  }
}

TEST_F(Wanda, BadOptionsAreRefused) {
  const auto expect = [&](const QuantizeOptions& given, Code code, const std::string& part) {
    const Failure failure = failure_of([&] { quantize(given); });
    EXPECT_EQ(failure.code, code) << failure.message;
    EXPECT_NE(failure.message.find(part), std::string::npos) << failure.message;
    EXPECT_FALSE(std::filesystem::exists(given.output));
  };
  QuantizeOptions given = wanda(file("out.gguf"), 1);
  given.calibration.clear();
  expect(given, Code::invalid_argument, "name one (--calibration)");
  given = wanda(file("out.gguf"), 1);
  given.sparse = Scores::magnitude;
  expect(given, Code::invalid_argument, "--scores wanda");
  given = wanda(file("out.gguf"), 1);
  given.calibration = file("missing.txt");
  expect(given, Code::not_found, "missing.txt");
  std::ofstream(file("bytes.txt"), std::ios::binary) << "good until here \xff\xfe";
  given.calibration = file("bytes.txt");
  expect(given, Code::invalid_argument, "UTF-8");
  given = wanda(file("out.gguf"), 1);
  given.type = FileType::q4_0;
  expect(given, Code::invalid_argument, "stored as F16 or Q8_0, not as Q4_0");
  given = wanda(file("out.gguf"), 1);
  given.calibration_progress = [](std::uint64_t, std::uint64_t) { return false; };
  expect(given, Code::cancelled, "cancelled");
}

}  // namespace
}  // namespace skipstone::convert
