// Which type each tensor of a model file gets.
#include "convert/tensor_type.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "base/log.h"
#include "fixtures/failure.h"

namespace skipstone::convert {
namespace {

using fixtures::Failure;
using fixtures::failure_of;
using gguf::Type;

using Shape = std::vector<std::uint64_t>;

Type chosen(FileType file, std::string_view name, const Shape& shape, const MixFacts& facts = {4, 1, false}) {
  return TensorTypes(file, facts).choose(name, shape);
}

TEST(TensorType, IsChosenByNameAndShape) {
  const Shape matrix{512, 100}, vector{512}, odd{36, 100};
  for (const FileTypeTraits& file : file_types()) {
    if (file.type == FileType::mxfp4_moe) continue;  // below
    SCOPED_TRACE(std::string(file.name));
    EXPECT_EQ(chosen(file.type, "blk.0.ffn_up.weight", matrix), file.matrices);
    EXPECT_EQ(chosen(file.type, "blk.0.attn_q.weight", matrix), file.matrices);
    EXPECT_EQ(chosen(file.type, "token_embd.weight", matrix), file.matrices);
    EXPECT_EQ(chosen(file.type, "blk.0.attn_norm.weight", vector), Type::f32);
    EXPECT_EQ(chosen(file.type, "blk.0.attn_q.bias", vector), Type::f32);
    EXPECT_EQ(chosen(file.type, "rope_freqs.weight", vector), Type::f32);
    EXPECT_EQ(chosen(file.type, "blk.0.attn_q_norm.weight", matrix), Type::f32);
    EXPECT_EQ(chosen(file.type, "blk.0.ffn_gate_inp.weight", matrix), Type::f32);
    const bool blocks = gguf::traits(file.matrices).block > 1;
    EXPECT_EQ(chosen(file.type, "blk.0.ffn_up.weight", odd), blocks ? Type::f16 : file.matrices);
    const Type output = !blocks || file.matrices == Type::q8_0 ? file.matrices : Type::q6_k;
    EXPECT_EQ(chosen(file.type, "output.weight", matrix), output);
    EXPECT_EQ(chosen(file.type, "token_embd.weight", matrix, {4, 1, true}), output);
    EXPECT_EQ(chosen(file.type, "output.weight", {96, 100}), output == Type::q6_k ? Type::q8_0 : output);
  }
}

// Models of 20 and of 32 layers by the rules that tensor_type.cpp cites; on models of 16 and 30 layers llama-quantize (2026) chose the same
// type as ours for every tensor of a Q4_K_M.
TEST(TensorType, MixesGiveSomeMatricesMoreBits) {
  const auto layers_with = [](FileType file, const char* part, Type type, const MixFacts& facts) {
    std::string layers;
    for (std::uint32_t i = 0; i < facts.layers; ++i) {
      if (chosen(file, fmt::format("blk.{}.{}.weight", i, part), {512, 100}, facts) == type) layers += fmt::format("{} ", i);
    }
    return layers;
  };
  const MixFacts small{20, 2, true}, grouped{20, 4, true};
  const std::string more = "0 1 4 7 10 13 16 17 18 19 ";  // the first and last eighth, every third between
  for (const FileType file : {FileType::q4_k_m, FileType::q5_k_m}) {
    EXPECT_EQ(layers_with(file, "attn_v", Type::q6_k, small), more);
    EXPECT_EQ(layers_with(file, "ffn_down", Type::q6_k, small), more);
    EXPECT_EQ(layers_with(file, "attn_output", Type::q6_k, small), "");
  }
  EXPECT_EQ(layers_with(FileType::q4_k_s, "attn_v", Type::q5_k, small), "0 1 2 3 ");
  EXPECT_EQ(layers_with(FileType::q4_k_s, "ffn_down", Type::q5_k, small), "0 1 ");
  EXPECT_EQ(layers_with(FileType::q3_k_m, "attn_v", Type::q5_k, small), "0 1 ");
  EXPECT_EQ(layers_with(FileType::q3_k_m, "ffn_down", Type::q5_k, small), "0 ");
  EXPECT_EQ(chosen(FileType::q3_k_m, "blk.9.attn_v.weight", {512, 100}, small), Type::q4_k);
  EXPECT_EQ(chosen(FileType::q3_k_m, "blk.9.ffn_down.weight", {512, 100}, small), Type::q4_k);
  EXPECT_EQ(chosen(FileType::q3_k_m, "blk.9.attn_output.weight", {512, 100}, small), Type::q4_k);
  for (const char* part : {"attn_v", "attn_output", "ffn_down"}) {
    EXPECT_EQ(chosen(FileType::q3_k_l, fmt::format("blk.9.{}.weight", part), {512, 100}, small), Type::q5_k) << part;
    EXPECT_EQ(chosen(FileType::q2_k, fmt::format("blk.9.{}.weight", part), {512, 100}, small), Type::q3_k) << part;
    EXPECT_EQ(chosen(FileType::q5_k_s, fmt::format("blk.0.{}.weight", part), {512, 100}, small), Type::q5_k) << part;
  }
  // Fused: Q, K and V have the type of values, gate and up that of up.
  for (const FileTypeTraits& file : file_types()) {
    for (std::uint32_t layer = 0; layer < small.layers; ++layer) {
      EXPECT_EQ(chosen(file.type, fmt::format("blk.{}.attn_qkv.weight", layer), {512, 100}, small),
                chosen(file.type, fmt::format("blk.{}.attn_v.weight", layer), {512, 100}, small))
          << file.name << layer;
      if (file.type == FileType::mxfp4_moe) continue;
      EXPECT_EQ(chosen(file.type, fmt::format("blk.{}.ffn_up.weight", layer), {512, 100}, small), file.matrices) << file.name;
    }
  }
  // Four query heads to a KV head and more: values weigh little and count much.
  for (const FileType file : {FileType::q2_k, FileType::q2_k_s}) {
    EXPECT_EQ(chosen(file, "blk.9.attn_v.weight", {512, 100}, grouped), Type::q4_k);
  }
  EXPECT_EQ(chosen(FileType::iq4_nl, "blk.9.attn_v.weight", {512, 100}, grouped), Type::q5_k);
  EXPECT_EQ(chosen(FileType::q4_k_m, "blk.11.attn_v.weight", {512, 100}, {80, 8, false}), Type::q5_k);
}

// Rules that depend on more than the file type and the layer.
TEST(TensorType, ImportanceExpertsAndLayersWithoutValues) {
  const Shape matrix{512, 100}, stack{512, 100, 8};
  const MixFacts dense{20, 2, true}, measured{20, 2, true, 0, true}, mixtral{20, 4, false, 8}, many{20, 4, false, 64};
  for (const FileType file : {FileType::iq4_nl, FileType::iq4_xs}) {
    EXPECT_EQ(chosen(file, "blk.1.ffn_down.weight", matrix, dense), Type::q5_k);
    EXPECT_EQ(chosen(file, "blk.1.ffn_down.weight", matrix, measured), traits(file).matrices);
    EXPECT_EQ(chosen(file, "blk.9.attn_v.weight", matrix, many), Type::q5_k);
  }
  EXPECT_EQ(chosen(FileType::q4_0, "blk.1.ffn_down.weight", matrix, dense), Type::q4_0);
  EXPECT_EQ(chosen(FileType::q4_0, "blk.1.ffn_down.weight", matrix, measured), Type::q4_1);
  EXPECT_EQ(chosen(FileType::q5_0, "blk.1.ffn_down.weight", matrix, measured), Type::q5_1);
  EXPECT_EQ(chosen(FileType::q5_0, "blk.2.ffn_down.weight", matrix, measured), Type::q5_0);
  EXPECT_EQ(chosen(FileType::q4_k_m, "blk.9.ffn_down.weight", matrix, measured),
            chosen(FileType::q4_k_m, "blk.9.ffn_down.weight", matrix, dense));
  for (const FileType file : {FileType::q4_k_m, FileType::q2_k}) {
    EXPECT_EQ(chosen(file, "blk.9.attn_v.weight", matrix, mixtral), Type::q8_0);
    EXPECT_EQ(chosen(file, "blk.9.attn_k.weight", matrix, mixtral), Type::q8_0);
    EXPECT_EQ(chosen(file, "blk.9.attn_output.weight", matrix, mixtral), Type::q5_k);
    EXPECT_EQ(chosen(file, "blk.9.attn_k.weight", matrix, many), traits(file).matrices);
    EXPECT_EQ(chosen(file, "blk.9.ffn_gate_exps.weight", stack, many), traits(file).matrices);
    EXPECT_EQ(chosen(file, "blk.9.ffn_gate_inp.weight", matrix, many), Type::f32);
  }
  EXPECT_EQ(chosen(FileType::q4_k_m, "blk.0.ffn_down_exps.weight", stack, many), Type::q6_k);
  EXPECT_EQ(chosen(FileType::q4_k_m, "blk.2.ffn_down_exps.weight", stack, many), Type::q4_k);
  // Five layers have values: of these, the third and the last get more bits.
  MixFacts hybrid{20, 2, true};
  hybrid.value_layers = {3, 7, 11, 15, 19};
  for (const auto& [layer, type] : {std::pair{3, Type::q4_k}, {7, Type::q4_k}, {11, Type::q6_k}, {15, Type::q4_k}, {19, Type::q6_k}}) {
    EXPECT_EQ(chosen(FileType::q4_k_m, fmt::format("blk.{}.attn_v.weight", layer), matrix, hybrid), type) << layer;
  }
  // Grouped queries with 80 layers are Llama 70B; without groups they are another model.
  EXPECT_EQ(chosen(FileType::q4_k_s, "blk.40.attn_v.weight", matrix, {80, 1, false}), Type::q4_k);
  // Only the experts are MXFP4 in llama.cpp's file type.
  EXPECT_EQ(chosen(FileType::mxfp4_moe, "blk.3.ffn_up_exps.weight", stack, many), Type::mxfp4);
  EXPECT_EQ(chosen(FileType::mxfp4_moe, "blk.3.attn_q.weight", matrix, many), Type::q8_0);
  EXPECT_EQ(chosen(FileType::mxfp4_moe, "output.weight", matrix, many), Type::q8_0);
  EXPECT_EQ(chosen(FileType::nvfp4, "blk.3.attn_q.weight", Shape{96, 100}, dense), Type::iq4_nl);
  // Falcon's rules.
  MixFacts falcon{32, 71, true};
  falcon.falcon = true;
  EXPECT_EQ(chosen(FileType::q4_k_m, "token_embd.weight", matrix, falcon), Type::q8_0);
  EXPECT_EQ(chosen(FileType::q4_k_m, "blk.1.ffn_down.weight", matrix, falcon), Type::q6_k);
  EXPECT_EQ(chosen(FileType::q4_k_m, "blk.3.ffn_down.weight", matrix, falcon), Type::q5_k);
  EXPECT_EQ(chosen(FileType::q4_k_m, "blk.5.ffn_down.weight", matrix, falcon), Type::q4_k);
  EXPECT_EQ(chosen(FileType::q3_k_m, "blk.9.attn_output.weight", matrix, falcon), Type::q3_k);
}

TEST(TensorType, RowsThatAreNoWholeSuperBlocks) {
  struct Row {
    FileType file;
    Type instead;
  };
  for (const Row& row : {Row{FileType::iq4_xs, Type::iq4_nl}, Row{FileType::q2_k_s, Type::q4_0}, Row{FileType::q3_k_s, Type::q4_0},
                         Row{FileType::q4_k_m, Type::q5_0}, Row{FileType::q5_k_m, Type::q5_1}, Row{FileType::q6_k, Type::q8_0}}) {
    TensorTypes types(row.file, {});
    EXPECT_EQ(types.choose("blk.3.ffn_up.weight", Shape{576, 4}), row.instead);
    EXPECT_EQ(types.choose("blk.3.ffn_gate.weight", Shape{36, 4}), Type::f16);
    EXPECT_EQ(types.choose("blk.3.ffn_up.weight", Shape{512, 4}), traits(row.file).matrices);
    EXPECT_EQ(types.replaced(), 2u);
    int warnings = 0;
    log::set_sink([&](log::Level, std::string_view text) {
      ++warnings;
      EXPECT_NE(text.find("out.gguf: 2 of 3 matrices"), std::string_view::npos) << text;
    });
    types.warn("out.gguf");
    TensorTypes(row.file, {}).warn("out.gguf");
    EXPECT_EQ(warnings, 1);
    log::set_sink({});
  }
}

TEST(TensorType, NamesAndFileTypes) {
  EXPECT_EQ(parse_file_type("f16"), FileType::f16);
  EXPECT_EQ(parse_file_type("Q8_0"), FileType::q8_0);
  EXPECT_EQ(parse_file_type("bF16"), FileType::bf16);
  EXPECT_EQ(parse_file_type("q4_k"), FileType::q4_k_m);
  EXPECT_EQ(parse_file_type("Q5_K"), FileType::q5_k_m);
  EXPECT_EQ(parse_file_type("q3_k"), FileType::q3_k_m);
  EXPECT_EQ(parse_file_type("q2_k"), FileType::q2_k);
  for (const FileTypeTraits& file : file_types()) EXPECT_EQ(parse_file_type(file.name), file.type) << file.name;
  for (const char* wrong : {"", "Q4_K_X", "f", "F16 ", "f160"}) {
    const Failure failure = failure_of([&] { parse_file_type(wrong); });
    EXPECT_EQ(failure.code, Code::invalid_argument) << wrong;
    for (const FileTypeTraits& file : file_types()) EXPECT_NE(failure.message.find(file.name), std::string::npos) << failure.message;
  }
  for (const char* read : {"IQ3_XXS", "iq2_m", "TQ1_0", "Q1_0"}) {
    const Failure failure = failure_of([&] { parse_file_type(read); });
    EXPECT_EQ(failure.code, Code::invalid_argument);
    EXPECT_NE(failure.message.find("is read, not written; Q"), std::string::npos) << failure.message;
  }
  const std::vector<std::pair<const char*, std::uint32_t>> numbers = {
      // enum llama_ftype of llama.h
      {"F32", 0},     {"F16", 1},     {"Q4_0", 2},    {"Q4_1", 3},    {"Q8_0", 7},    {"Q5_0", 8},       {"Q5_1", 9},    {"Q2_K", 10},
      {"Q3_K_S", 11}, {"Q3_K_M", 12}, {"Q3_K_L", 13}, {"Q4_K_S", 14}, {"Q4_K_M", 15}, {"Q5_K_S", 16},    {"Q5_K_M", 17}, {"Q6_K", 18},
      {"Q2_K_S", 21}, {"IQ4_NL", 25}, {"IQ4_XS", 30}, {"BF16", 32},   {"MXFP4", 38},  {"MXFP4_MOE", 38}, {"NVFP4", 39}};
  EXPECT_EQ(numbers.size(), file_types().size());
  for (const auto& [name, number] : numbers) EXPECT_EQ(traits(parse_file_type(name)).number, number) << name;
  for (const gguf::Traits& each : gguf::all_traits()) {
    if (!each.writable()) continue;
    EXPECT_EQ(traits(file_type_of(each.type)).matrices, each.type) << each.name;
  }
}

}  // namespace
}  // namespace skipstone::convert
