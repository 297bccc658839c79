// skipstone convert as its users meet it, and a checkpoint whose GGUF file another program made.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_checkpoint.h"
#include "gguf/gguf.h"
#include "program.h"

namespace skipstone::e2e {
namespace {

namespace fs = std::filesystem;

class CliConvert : public testing::Test {
 protected:
  void SetUp() override { fixtures::write_checkpoint(fixtures::tiny_checkpoint({.layers = 3}), checkpoint()); }
  std::string checkpoint() const { return folder_.file("tiny-hf"); }
  std::string output() const { return folder_.file("tiny.gguf"); }

  void expect_refused(const std::vector<std::string>& arguments, int code, const std::string& part) const {
    const Result result = run(arguments);
    EXPECT_EQ(result.code, code) << result.error;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.error.rfind("error: ", 0), 0u) << result.error;
    EXPECT_TRUE(contains(result.error, part)) << "wanted: " << part << "\n" << result.error;
  }

  fixtures::TemporaryDirectory folder_;
};

TEST_F(CliConvert, SaysWhatItWroteAndTheFileRuns) {
  const Result result = run({"convert", checkpoint(), output(), "--type", "Q8_0", "--exit-layer", "2"});
  ASSERT_EQ(result.code, 0) << result.error;
  EXPECT_EQ(result.out.rfind(output() + ": ", 0), 0u) << result.out;
  EXPECT_TRUE(contains(result.out, " KiB, 29 tensors (F32 x 7, Q8_0 x 22), exit layer 2\n")) << result.out;
  EXPECT_EQ(result.error, "");
  const Result text = run({"run", "-m", output(), "-p", "the", "-n", "8", "--draft", "none"});
  EXPECT_EQ(text.code, 0) << text.error;
}

TEST_F(CliConvert, HelpExplainsItself) {
  const Result result = run({"convert", "--help"});
  EXPECT_EQ(result.code, 0);
  for (const char* part :
       {"FOLDER", "OUTPUT", "--type", "--exit-layer", "--pre", "--force", "q4_k_m", "config.json", "Example:", "130 interrupted"}) {
    EXPECT_TRUE(contains(result.out, part)) << part << "\n" << result.out;
  }
}

TEST_F(CliConvert, PreTokenizersThatThereAreNot) {
  expect_refused({"convert", checkpoint(), output(), "--pre", "elvish"}, 2, "there are default, gpt-2, ");
  expect_refused({"convert", checkpoint(), output(), "--pre", "qwen2"}, 2, "only byte-level BPE has one");
  EXPECT_FALSE(fs::exists(output()));
}

TEST_F(CliConvert, ReplacesAFileOnRequestOnly) {
  fixtures::write_text(output(), "mine");
  expect_refused({"convert", checkpoint(), output()}, 2, "is there already; choose another name, or allow it to be replaced (--force)");
  EXPECT_EQ(fixtures::bytes_of(output()), "mine");
  EXPECT_EQ(run({"convert", checkpoint(), output(), "--force"}).code, 0);
  EXPECT_GT(fs::file_size(output()), 10000u);
}

TEST_F(CliConvert, WrongArguments) {
  expect_refused({"convert"}, 2, "FOLDER");
  expect_refused({"convert", checkpoint()}, 2, "OUTPUT");
  expect_refused({"convert", checkpoint(), output(), "--type", "q5_x"}, 2, "q5_x");
  expect_refused({"convert", checkpoint(), output(), "--exit-layer", "3"}, 2, "the exit layer is 3");
  expect_refused({"convert", checkpoint(), output(), "--exit-layer", "-1"}, 2, "-1");
  expect_refused({"convert", checkpoint(), checkpoint()}, 2, "is a folder");
  expect_refused({"convert", folder_.file("nothing"), output()}, 3, "there is no such folder");
  expect_refused({"convert", fixtures::text_of(folder_.path()), output()}, 3, "has no config.json");
  EXPECT_FALSE(fs::exists(output()));
}

class Py20 : public CliConvert {
 protected:
  void SetUp() override {
    if (!fs::exists(source()) || !fs::exists(reference())) GTEST_SKIP() << "no checkpoint at " << source();
    const Result result = run({"convert", source(), output(), "--type", "f16"});
    ASSERT_EQ(result.code, 0) << result.error;
  }
  static std::string source() { return std::string(SKIPSTONE_SHARED_DATA) + "/models/py20-hf"; }
  static std::string reference() { return std::string(SKIPSTONE_SHARED_DATA) + "/models/py20-f16.gguf"; }
};

/// Weights after a passage through F16, as F32 bytes.
std::vector<std::byte> through_half(std::span<const std::byte> floats) {
  std::vector<float> weights(floats.size() / 4);
  std::vector<std::byte> halves(floats.size() / 2), out(floats.size());
  gguf::dequantize(gguf::Type::f32, floats, weights);
  gguf::quantize(gguf::Type::f16, weights, halves);
  gguf::dequantize(gguf::Type::f16, halves, weights);
  gguf::quantize(gguf::Type::f32, weights, out);
  return out;
}

// The checkpoint holds everything as F16; the other file's norms were written from F32 training weights before that rounding.
TEST_F(Py20, HasTheBytesOfTheFileThatAnotherProgramMade) {
  const gguf::File ours = gguf::File::open(output()), theirs = gguf::File::open(reference());
  ASSERT_EQ(ours.tensors().size(), theirs.tensors().size());
  for (const gguf::Tensor& wanted : theirs.tensors()) {
    const gguf::Tensor* found = ours.find_tensor(wanted.name);
    ASSERT_NE(found, nullptr) << wanted.name;
    EXPECT_EQ(found->type, wanted.type) << wanted.name;
    EXPECT_EQ(found->dimensions, wanted.dimensions) << wanted.name;
    EXPECT_EQ(found->shape, wanted.shape) << wanted.name;
    if (wanted.type == gguf::Type::f32) {
      EXPECT_EQ(found->data.all(), through_half(wanted.data.all())) << wanted.name;
    } else {
      EXPECT_TRUE(found->data == wanted.data) << wanted.name;
    }
  }
  for (const gguf::Pair& wanted : theirs.metadata()) {
    if (wanted.key == "general.name") continue;  // ours is the folder's name
    const gguf::Value* found = ours.find(wanted.key);
    ASSERT_NE(found, nullptr) << wanted.key;
    EXPECT_EQ(gguf::type_name(*found), gguf::type_name(wanted.value)) << wanted.key;
    EXPECT_EQ(gguf::to_display(*found), gguf::to_display(wanted.value)) << wanted.key;
  }
  EXPECT_EQ(*ours.strings("tokenizer.ggml.tokens"), *theirs.strings("tokenizer.ggml.tokens"));
}

TEST_F(Py20, WritesTheSameText) {
  const auto text_of = [](const std::string& model) {
    const Result result = run({"run", "-m", model, "-p", "def fibonacci(n):", "-n", "16", "--ctx", "32", "--draft", "none"});
    EXPECT_EQ(result.code, 0) << result.error;
    return result.out;
  };
  const std::string text = text_of(output());
  EXPECT_GT(text.size(), 20u);
  EXPECT_EQ(text, text_of(reference()));
}

}  // namespace
}  // namespace skipstone::e2e
