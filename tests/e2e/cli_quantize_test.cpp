// skipstone quantize: what it prints, that its files run, and that nothing is left where it stops.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "program.h"

namespace skipstone::e2e {
namespace {

using nlohmann::json;

class CliQuantize : public testing::Test {
 protected:
  void SetUp() override { fixtures::write_tiny_model({}, model()); }
  std::string model() const { return file("tiny.gguf"); }
  std::string file(const std::string& name) const { return folder_.file(name); }
  std::size_t files() const {
    const auto all = std::filesystem::directory_iterator(folder_.path());
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
  void expect_refused(const std::vector<std::string>& arguments, int code, const std::string& part) const {
    const std::size_t before = files();
    const Result result = run(arguments);
    EXPECT_EQ(result.code, code) << result.error;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.error.rfind("error: ", 0), 0u) << result.error;
    EXPECT_EQ(std::ranges::count(result.error, '\n'), 1) << result.error;
    EXPECT_NE(result.error.find(part), std::string::npos) << "wanted: " << part << "\n" << result.error;
    EXPECT_EQ(files(), before) << result.error;
  }

  fixtures::TemporaryDirectory folder_;
};

TEST_F(CliQuantize, FilesRunAndTheReportSaysWhatTheyAre) {
  const json was = json::parse(run({"inspect", model(), "--json"}).out);
  for (const std::string type : {"q8_0", "Q4_0"}) {
    const std::string output = file(type + ".gguf");
    const Result text = run({"quantize", model(), output, type});
    ASSERT_EQ(text.code, 0) << text.error;
    EXPECT_EQ(text.error, "");
    EXPECT_EQ(std::ranges::count(text.out, '\n'), 1) << text.out;
    for (const char* part :
         {output.c_str(), "(from ", "F32 x 9", type == "q8_0" ? "Q8_0 x 29" : "Q4_0 x 28, Q8_0 x 1", "bits per weight"}) {
      EXPECT_NE(text.out.find(part), std::string::npos) << part << "\n" << text.out;
    }
    const Result again = run({"quantize", model(), output, type, "--json", "--force"});
    ASSERT_EQ(again.code, 0) << again.error;
    const json report = json::parse(again.out), is = json::parse(run({"inspect", output, "--json"}).out);
    EXPECT_EQ(report["input"]["bytes"], was["bytes"]);
    EXPECT_EQ(report["output"]["bytes"], std::filesystem::file_size(output));
    EXPECT_EQ(report["output"]["tensor_types"], is["tensor_types"]);
    EXPECT_EQ(is["parameters"], was["parameters"]);
    const Result generated = run({"run", "-m", output, "-p", "Hello", "-n", "8", "--json"});
    ASSERT_EQ(generated.code, 0) << generated.error;
    EXPECT_EQ(json::parse(generated.out)["tokens"].size(), 8u);
  }
}

// Rows of 64 are no super-blocks: one line says so, and the file runs all the same. The help names what the error message names.
TEST_F(CliQuantize, MixesOfKQuants) {
  const std::string narrow = file("narrow.gguf");
  const Result replaced = run({"quantize", model(), narrow, "q4_k_m"});
  ASSERT_EQ(replaced.code, 0) << replaced.error;
  EXPECT_NE(replaced.error.find("28 of 29 matrices have rows that do not divide into the blocks of Q4_K_M"), std::string::npos)
      << replaced.error;
  EXPECT_EQ(std::ranges::count(replaced.error, '\n'), 1) << replaced.error;
  for (const char* part : {"F32 x 9", "Q5_0 x 24", "Q8_0 x 5"}) EXPECT_NE(replaced.out.find(part), std::string::npos) << replaced.out;
  fixtures::write_tiny_model({.layers = 2, .dim = 256, .ffn = 256}, file("wide.gguf"));
  const Result mixed = run({"quantize", file("wide.gguf"), file("mixed.gguf"), "Q4_K"});
  ASSERT_EQ(mixed.code, 0) << mixed.error;
  EXPECT_EQ(mixed.error, "");
  EXPECT_EQ(json::parse(run({"inspect", file("mixed.gguf"), "--json"}).out)["tensor_types"].size(), 3u) << mixed.out;  // F32, Q4_K, Q6_K
  for (const std::string& made : {narrow, file("mixed.gguf")}) {
    const Result generated = run({"run", "-m", made, "-p", "Hello", "-n", "8", "--json"});
    ASSERT_EQ(generated.code, 0) << generated.error;
    EXPECT_EQ(json::parse(generated.out)["tokens"].size(), 8u);
  }
  const std::string known = run({"quantize", model(), file("no.gguf"), "nonsense"}).error,
                    list = known.substr(known.find("there are ") + 10);
  const std::string help = run({"quantize", "--help"}).out;
  std::istringstream names(list.substr(0, list.find('.')));
  std::size_t count = 0;
  for (std::string name; std::getline(names >> std::ws, name, ','); ++count) {
    EXPECT_NE(help.find(" " + name + " "), std::string::npos) << name;
  }
  EXPECT_GE(count, 19u);
}

// Half of the layers' weights, and drafts that change nothing: with the bundled model too.
TEST_F(CliQuantize, SparseFilesRunAndDraftLosslessly) {
  std::ofstream(file("text.txt")) << "The quick brown fox jumps over the lazy dog, and the dog does not mind it at all.";
  const std::string bundled = std::string(SKIPSTONE_MODELS) + "/skipstone-py.gguf", by_text = file("wanda.gguf"),
                    large = file("large.gguf");
  const Result wanda =
      run({"quantize", model(), by_text, "q8_0", "--sparse", "2:4", "--scores", "wanda", "--calibration", file("text.txt"), "--json"});
  ASSERT_EQ(wanda.code, 0) << wanda.error;
  EXPECT_NE(wanda.out.find("SPARSE_Q8_0"), std::string::npos) << wanda.out;
  const Result magnitude = run({"quantize", bundled, large, "f16", "--sparse", "2:4"});
  ASSERT_EQ(magnitude.code, 0) << magnitude.error;
  EXPECT_NE(magnitude.out.find("SPARSE_F16 x 140"), std::string::npos) << magnitude.out;
  EXPECT_LT(std::filesystem::file_size(large), std::filesystem::file_size(bundled) * 2 / 3);
  const Result inspected = run({"inspect", large});
  for (const char* part : {"SPARSE_F16", "skipstone.sparse.pattern", "2:4"}) {
    EXPECT_NE(inspected.out.find(part), std::string::npos) << part << "\n" << inspected.out;
  }
  for (const auto& [path, exit] : {std::pair{by_text, "exit:2"}, std::pair{large, "exit:7"}}) {
    const auto tokens = [&](const std::string& draft) {
      const Result result = run({"run", "-m", path, "-p", "def add(a, b):", "-n", "24", "--draft", draft, "--json"});
      EXPECT_EQ(result.code, 0) << result.error;
      return result.code == 0 ? json::parse(result.out)["tokens"] : json();
    };
    const json plain = tokens("none");
    EXPECT_GE(plain.size(), 1u);
    EXPECT_EQ(tokens("asd"), plain) << path;
    EXPECT_EQ(tokens(exit), plain) << path;
  }
}

TEST_F(CliQuantize, ImportanceMatricesAreMeasuredAndUsed) {
  std::ofstream text(file("text.txt"));
  for (int i = 0; i < 30; ++i) text << "The quick brown fox jumps over " << i << " lazy dogs. ";
  text.close();
  const std::string matrix = file("matrix.gguf");
  const Result measured = run({"imatrix", "-m", model(), "-f", file("text.txt"), "-o", matrix, "-c", "64", "--chunks", "3"});
  ASSERT_EQ(measured.code, 0) << measured.error;
  EXPECT_NE(measured.out.find("28 matrices, 3 chunks of 64 tokens"), std::string::npos) << measured.out;
  const Result again = run({"imatrix", "-m", model(), "-f", file("text.txt"), "-o", matrix, "-c", "64", "--force", "--json"});
  ASSERT_EQ(again.code, 0) << again.error;
  const json report = json::parse(again.out);
  EXPECT_EQ(report["bytes"], std::filesystem::file_size(matrix));
  EXPECT_EQ(report["entries"], 28);
  EXPECT_GT(report["chunks"], 3);
  const std::string with = file("with.gguf"), without = file("without.gguf");
  const Result made = run({"quantize", model(), with, "iq4_nl", "--imatrix", matrix});
  ASSERT_EQ(made.code, 0) << made.error;
  EXPECT_EQ(made.error, "");
  ASSERT_EQ(run({"quantize", model(), without, "iq4_nl"}).code, 0);
  EXPECT_NE(fixtures::bytes_of(with), fixtures::bytes_of(without));
  EXPECT_NE(run({"inspect", with}).out.find("quantize.imatrix.entries_count"), std::string::npos);
  EXPECT_EQ(run({"run", "-m", with, "-p", "Hello", "-n", "8"}).code, 0);
  expect_refused({"imatrix", "-m", model(), "-f", file("text.txt"), "-o", matrix}, 2, "is there already");
  expect_refused({"imatrix", "-m", model(), "-f", file("text.txt"), "-o", file("out.gguf"), "-c", "1"}, 2, "at least 2 tokens");
  expect_refused({"imatrix", "-m", model(), "-f", file("none.txt"), "-o", file("out.gguf")}, 3, "none.txt");
  expect_refused({"imatrix", "-m", model(), "-f", model(), "-o", file("out.gguf")}, 2, "UTF-8");
  expect_refused({"quantize", model(), file("out.gguf"), "q4_0", "--imatrix", file("none.gguf")}, 3, "none.gguf");
  expect_refused({"quantize", model(), file("out.gguf"), "q4_0", "--imatrix", model()}, 3, "has no importance matrix in it");
  expect_refused({"quantize", model(), file("out.gguf"), "q4_0", "--imatrix", file("text.txt")}, 3, "is no importance matrix");
  expect_refused({"quantize", model(), file("out.gguf"), "iq3_xxs"}, 2, "IQ3_XXS is read, not written; Q3_K_S is about as small");
}

TEST_F(CliQuantize, WhatPeopleGetWrong) {
  const std::string output = file("out.gguf");
  std::ofstream(file("text.gguf")) << "This is a text and no model at all.";
  std::ofstream(file("short.gguf"), std::ios::binary) << fixtures::bytes_of(model()).substr(0, 20000);
  expect_refused({"quantize", model(), output, "q5_x"}, 2, "there are F32, F16, BF16, Q8_0, Q6_K, Q5_K_M");
  expect_refused({"quantize", model(), output, "q4_0", "--sparse", "2:4"}, 2, "stored as F16 or Q8_0, not as Q4_0");
  expect_refused({"quantize", model(), output, "f16", "--sparse", "1:4"}, 2, "no sparse pattern '1:4'; there is 2:4");
  expect_refused({"quantize", model(), output, "f16", "--sparse", "2:4", "--scores", "best"}, 2, "there are magnitude and wanda");
  expect_refused({"quantize", model(), output, "f16", "--scores", "wanda"}, 2, "--sparse 2:4");
  expect_refused({"quantize", model(), output, "f16", "--sparse", "2:4", "--scores", "wanda"}, 2, "--calibration");
  expect_refused({"quantize", file("missing.gguf"), output, "q8_0"}, 3, "missing.gguf");
  expect_refused({"quantize", file("text.gguf"), output, "q8_0"}, 3, "not a GGUF file");
  expect_refused({"quantize", file("short.gguf"), output, "q8_0"}, 3, "short.gguf");
  expect_refused({"quantize", model(), model(), "q8_0", "--force"}, 2, "is the input");
  expect_refused({"quantize", model(), fixtures::text_of(folder_.path()), "q8_0"}, 2, "is a folder");
  expect_refused({"quantize", model(), file("text.gguf"), "q8_0"}, 2, "is there already");
  expect_refused({"quantize", model(), file("no/folder/out.gguf"), "q8_0"}, 1, fixtures::no_such_folder());
  const Result usage = run({"quantize", model(), output});
  EXPECT_EQ(usage.code, 2);
  EXPECT_NE(usage.error.find("TYPE"), std::string::npos) << usage.error;
}

TEST_F(CliQuantize, ControlCLeavesNothingBehind) {
  fixtures::TinyConfig config;  // 134 MB of F32, written 8 MiB at a time: there is time to interrupt it
  config.layers = 1;
  config.vocab = 1u << 19;
  config.type = gguf::Type::bf16;
  fixtures::write_tiny_model(config, file("large.gguf"));
  const std::size_t before = files();
  const auto begun = [&] { return files() > before; };
  const Result result =
      run({.arguments = {"quantize", file("large.gguf"), file("out.gguf"), "f32", "--threads", "1"}, .interrupt_when = begun});
  EXPECT_EQ(result.code, 130) << "signal " << result.signal << result.error;
  EXPECT_NE(result.error.find("cancelled; no partial file is left"), std::string::npos) << result.error;
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(files(), before);
}

/// The program's tokens that agree with `expected` before the first that does not.
std::size_t agreeing(const std::string& model, const std::string& prompt, const std::vector<int>& expected) {
  const Result result =
      run({"run", "-m", model, "-p", prompt, "-n", std::to_string(expected.size()), "--draft", "none", "--temp", "0", "--json"});
  EXPECT_EQ(result.code, 0) << result.error;
  const auto tokens = json::parse(result.out)["tokens"].get<std::vector<int>>();
  return static_cast<std::size_t>(std::ranges::mismatch(tokens, expected).in1 - tokens.begin());
}

// F32 tokens of a trained model. Q8_0 keeps all of the first 32 for each of the eight prompts; Q4_0 keeps 5 for this one, and weights whose
// blocks, scales or halves are mixed up not even the first.
TEST_F(CliQuantize, ATrainedModelGoesOnAsItDid) {
  const std::string source = SKIPSTONE_SHARED_DATA "/models/py20-f16.gguf", expected = SKIPSTONE_SHARED_DATA "/models/py20.greedy.json";
  if (!std::filesystem::exists(source) || !std::filesystem::exists(expected)) GTEST_SKIP() << "no reference data at " << expected;
  json cases;
  std::ifstream(expected) >> cases;
  const std::string prompt = cases[0]["prompt"];
  auto tokens = cases[0]["tokens"].get<std::vector<int>>();
  tokens.resize(16);
  for (const char* type : {"q8_0", "q4_0"}) {
    const Result made = run({"quantize", source, file(std::string(type) + ".gguf"), type});
    ASSERT_EQ(made.code, 0) << made.error;
  }
  EXPECT_GE(agreeing(file("q8_0.gguf"), prompt, tokens), 14u);
  EXPECT_GE(agreeing(file("q4_0.gguf"), prompt, tokens), 3u);
}

}  // namespace
}  // namespace skipstone::e2e
