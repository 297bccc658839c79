// What quantising makes of importance matrices.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/philox.h"
#include "edited_model.h"
#include "importance_fixture.h"

namespace skipstone::convert {
namespace {

using fixtures::bytes_of;
using fixtures::Failure;
using gguf::File;
using gguf::Tensor;
using gguf::Type;
using tests::EditedModel;

double weighted_error(const Tensor& was, const Tensor& is, const std::vector<float>& importance) {
  const std::vector<float> before = weights_of(was), after = weights_of(is);
  double error = 0.0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double difference = static_cast<double>(before[i]) - static_cast<double>(after[i]);
    error += difference * difference * static_cast<double>(importance[i % importance.size()]);
  }
  return error;
}

// With an importance matrix each matrix errs less where it matters, in every type with a search for scales; the others are as without.
TEST_F(Importance, MakesTheErrorSmallerWhereItMatters) {
  fixtures::write_tiny_model({.layers = 1, .dim = 256, .ffn = 256}, file("wide.gguf"));
  const File model = File::open(file("wide.gguf"));
  const ImportanceMatrix matrix = uneven(model);
  write_importance_matrix(matrix, file("matrix.gguf"));
  for (const gguf::Traits& each : gguf::all_traits()) {
    if (!each.writable()) continue;
    SCOPED_TRACE(std::string(each.name));
    int warnings = 0;
    log::set_sink([&](log::Level, std::string_view) { ++warnings; });
    QuantizeOptions given = options(file("wide.gguf"), file("with.gguf"), each.type);
    given.imatrix = file("matrix.gguf");
    given.overwrite = true;
    quantize(given);
    log::set_sink({});
    const bool searched = each.block > 1 && each.type != Type::q8_0;
    EXPECT_EQ(warnings, searched ? 0 : 1);
    const File with = File::open(given.output), without = File::open(quantized(file("wide.gguf"), each.type));
    EXPECT_EQ(with.string("quantize.imatrix.file", ""), searched ? file("matrix.gguf") : "");
    if (searched) {
      EXPECT_EQ(with.string("quantize.imatrix.dataset", ""), "a text");
      EXPECT_EQ(*with.find("quantize.imatrix.entries_count"), gguf::Value(std::uint32_t{7}));
      EXPECT_EQ(*with.find("quantize.imatrix.chunks_count"), gguf::Value(std::uint32_t{7}));
    }
    EXPECT_EQ(without.find("quantize.imatrix.file"), nullptr);
    double error_with = 0.0, error_without = 0.0;
    for (const Tensor& tensor : model.tensors()) {
      const Tensor &is = *with.find_tensor(tensor.name), &other = *without.find_tensor(tensor.name);
      if (!matrix.entries.contains(tensor.name)) {
        EXPECT_TRUE(is.data == other.data) << tensor.name;
        continue;
      }
      if (is.type != other.type) continue;  // mixes have rules for importance matrices
      error_with += weighted_error(tensor, is, matrix.entries.at(tensor.name).sums);
      error_without += weighted_error(tensor, other, matrix.entries.at(tensor.name).sums);
    }
    if (searched) {
      const bool few_scales = each.type == gguf::Type::mxfp4;  // powers of two: there is little to choose
      EXPECT_LT(error_with, (few_scales ? 1.0 : 0.8) * error_without);
      EXPECT_GT(error_with, 0.0);
    } else {
      EXPECT_EQ(error_with, error_without);
    }
  }
}

TEST_F(Importance, EveryStackedMatrixHasItsOwn) {
  std::vector<float> weights(256 * 6 * 2);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] = static_cast<float>(static_cast<std::int32_t>(philox({static_cast<std::uint32_t>(i), 0, 0, 0}, {5, 0})[0])) * 0x1p-31f;
  }
  EditedModel({.layers = 1}).tensor("blk.0.ffn_up_exps.weight", {256, 6, 2}, weights).write(file("experts.gguf"));
  const File model = File::open(file("experts.gguf"));
  ImportanceMatrix matrix = uneven(model);
  ImportanceMatrix::Entry& entry = matrix.entries["blk.0.ffn_up_exps.weight"];
  entry.sums.resize(512);
  for (std::size_t i = 0; i < 512; ++i) entry.sums[i] = (i < 256 ? i % 8 == 3 : i % 8 == 5) ? 100.0f : 0.01f;
  entry.counts = {2.0f, 2.0f};
  const auto made = [&](const ImportanceMatrix& of) {
    write_importance_matrix(of, file("matrix.gguf"));
    EXPECT_EQ(File::open(file("matrix.gguf")).find_tensor("blk.0.ffn_up_exps.weight.in_sum2")->shape,
              (std::array<std::uint64_t, 4>{256, 2, 1, 1}));
    QuantizeOptions given = options(file("experts.gguf"), file("with.gguf"), Type::q4_k);
    given.imatrix = file("matrix.gguf");
    given.overwrite = true;
    quantize(given);
    return weights_of(*File::open(given.output).find_tensor("blk.0.ffn_up_exps.weight"));
  };
  const std::vector<float> both = made(matrix);
  entry.counts = {2.0f, 0.0f};  // the text never reached the second one, whose inputs count alike
  const std::vector<float> first = made(matrix);
  EXPECT_TRUE(std::equal(both.begin(), both.begin() + 256 * 6, first.begin()));
  EXPECT_FALSE(std::equal(both.begin() + 256 * 6, both.end(), first.begin() + 256 * 6));
}

TEST_F(Importance, MatricesOfOtherModelsAreRefused) {
  fixtures::write_tiny_model({.layers = 2, .dim = 128}, file("wider.gguf"));
  const auto refuse = [&](const ImportanceMatrix& matrix, const std::string& part) {
    write_importance_matrix(matrix, file("matrix.gguf"));
    QuantizeOptions given = options(file("model.gguf"), file("out.gguf"), Type::q4_0);
    given.imatrix = file("matrix.gguf");
    const Failure failure = refused(given);
    EXPECT_EQ(failure.code, Code::bad_file);
    EXPECT_NE(failure.message.find(part), std::string::npos) << failure.message;
  };
  refuse(uneven(File::open(file("wider.gguf"))), "is of 128 inputs and the tensor has 64");
  ImportanceMatrix strange;
  strange.entries["model.layers.0.mlp"] = {{1.0f}, {1.0f}};
  refuse(strange, "none of these tensors");
  ImportanceMatrix partial = uneven(File::open(file("model.gguf")));
  partial.entries.erase("blk.0.attn_q.weight");
  partial.entries.erase("blk.1.ffn_up.weight");
  partial.entries["blk.0.ffn_up.weight"].sums.assign(64, 0.0f);  // no input of it was ever used
  write_importance_matrix(partial, file("matrix.gguf"));
  QuantizeOptions given = options(file("model.gguf"), file("out.gguf"), Type::q4_0);
  given.imatrix = file("matrix.gguf");
  std::string warning;
  log::set_sink([&](log::Level, std::string_view text) { warning += text; });
  quantize(given);
  log::set_sink({});
  EXPECT_NE(warning.find("2 of 14 matrices have no importance"), std::string::npos) << warning;
  const File with = File::open(file("out.gguf")), without = File::open(quantized(file("model.gguf"), Type::q4_0));
  for (const char* same : {"blk.0.attn_q.weight", "blk.1.ffn_up.weight", "blk.0.ffn_up.weight"}) {
    EXPECT_TRUE(with.find_tensor(same)->data == without.find_tensor(same)->data) << same;
  }
  EXPECT_FALSE(with.find_tensor("blk.0.attn_k.weight")->data == without.find_tensor("blk.0.attn_k.weight")->data);
  given.sparse = Scores::magnitude;
  given.type = FileType::q8_0;
  given.overwrite = true;
  EXPECT_NE(refused(given).message.find("not for sparse weights"), std::string::npos);
}

// A matrix is named in the file where it was used, and where the weights are rounded anew, no longer.
TEST_F(Importance, IsNamedWhereItWasUsed) {
  const auto names = [&](const File& model) {
    std::vector<std::string> keys;
    for (const gguf::Pair& pair : model.metadata()) {
      if (pair.key.starts_with("quantize.imatrix.")) keys.push_back(pair.key);
    }
    return keys;
  };
  std::string warnings;
  log::set_sink([&](log::Level, std::string_view text) { warnings.append(text).append("\n"); });
  write_importance_matrix(uneven(File::open(file("model.gguf"))), file("matrix.gguf"));
  QuantizeOptions given = options(file("model.gguf"), file("with.gguf"), Type::q4_0);
  given.imatrix = file("matrix.gguf");
  quantize(given);
  EXPECT_EQ(names(File::open(file("with.gguf"))).size(), 4u);
  EXPECT_EQ(warnings, "");
  EXPECT_EQ(names(File::open(quantized(file("with.gguf"), Type::q8_0))), std::vector<std::string>{});

  warnings.clear();
  given = options(file("with.gguf"), file("again.gguf"), Type::q4_0);
  given.imatrix = file("matrix.gguf");
  quantize(given);
  EXPECT_NE(warnings.find("are Q4_0 already and are copied; " + file("matrix.gguf") + " changes nothing"), std::string::npos) << warnings;
  EXPECT_EQ(warnings.find("without an importance matrix"), std::string::npos) << warnings;
  EXPECT_EQ(names(File::open(file("again.gguf"))), std::vector<std::string>{});
  log::set_sink({});
}

TEST_F(Importance, MatrixAndTextAreNoOutputs) {
  write_importance_matrix(uneven(File::open(file("model.gguf"))), file("matrix.gguf"));
  const std::string matrix = bytes_of(file("matrix.gguf")), text = bytes_of(file("text.txt"));
  QuantizeOptions given = options(file("model.gguf"), file("matrix.gguf"), Type::q4_0);
  given.imatrix = file("matrix.gguf");
  given.overwrite = true;
  EXPECT_NE(refused(given).message.find("is the input"), std::string::npos);
  EXPECT_EQ(bytes_of(file("matrix.gguf")), matrix);
  given = options(file("model.gguf"), file("text.txt"), Type::f16);
  given.sparse = Scores::wanda;
  given.calibration = file("text.txt");
  given.overwrite = true;
  EXPECT_NE(refused(given).message.find("is the input"), std::string::npos);
  EXPECT_EQ(bytes_of(file("text.txt")), text);
}

}  // namespace
}  // namespace skipstone::convert
