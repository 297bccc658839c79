// Files that mean harm, as the program meets them: a sentence that is safe to print, the right exit code, no crash, no waiting.
#include "cli_hostile.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "fixtures/tiny_checkpoint.h"
#include "unit/edited_model.h"

namespace skipstone::e2e {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using tests::EditedModel;

std::string deep_json(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST_F(CliHostile, TextFromModelsIsEscapedAndCut) {
  const std::string text = hostile_text();
  for (const char* key : {"tokenizer.ggml.model", "general.architecture"}) {
    EditedModel().set(key, text).write(file("bad.gguf"));
    expect_refused({"run", "-m", file("bad.gguf"), "-p", "x"}, 3);
    const Result inspected = run_here({"inspect", file("bad.gguf"), "--tensors"});
    EXPECT_EQ(inspected.code, 0) << inspected.error.substr(0, 500);
    expect_plain(inspected.out);
    EXPECT_TRUE(contains(inspected.out, "This build does not run it: ")) << inspected.out;
  }
  EditedModel().set(text.substr(0, 60000), std::string("value")).tensor(text.substr(0, 60000), {4}).write(file("names.gguf"));
  expect_refused({"run", "-m", file("names.gguf"), "-p", "x"}, 3, "belongs to a computation");
  const Result names = run_here({"inspect", file("names.gguf"), "--tensors"});
  EXPECT_EQ(names.code, 0);
  expect_plain(names.out);
  EXPECT_TRUE(json::accept(run_here({"inspect", file("names.gguf"), "--json"}).out));
  EditedModel().set("general.name", text).write(file("named.gguf"));
  const Result named = run_here({"run", "-m", file("named.gguf"), "-p", "x", "-n", "2", "--stats"});
  EXPECT_EQ(named.code, 0) << named.error.substr(0, 500);
  expect_plain(named.error);
}

TEST_F(CliHostile, TextFromArgumentsAndOtherFilesIsEscapedAndCut) {
  const std::string text = hostile_text().substr(0, 100000);
  const std::string name = "\033[2J\n\x07.gguf";
  expect_refused({"inspect", name}, 3);
  expect_refused({"run", "-m", model(), "-p", "x", "--draft", text}, 2);
  expect_refused({"run", "-m", model(), "-p", "x", "--temp", text}, 2);
  expect_refused({"quantize", model(), file("out.gguf"), text}, 2);
  expect_refused({text}, 2);
  write("bad.jsonl", "{\"prompt\": \"x\", \"" + text.substr(0, 5000) + "\n");
  expect_refused({"bench", "-m", model(), "--prompts", file("bad.jsonl")}, 2, "line 1 is not JSON");
  const json profile = {
      {"format", "skipstone-profile"},
      {"version", 1},
      {"model", {{"name", "\033[2J\r\n" + std::string(1u << 20, 'x')}, {"fingerprint", "other"}, {"layers", 4}}},
      {"skip_set", "attn:1"},
      {"constants",
       {{"k", 4}, {"gamma", 0.5}, {"adaptive", false}, {"eps", 0.1}, {"alpha", 0.1}, {"b1", 0.1}, {"b2", 0.1}, {"reuse", true}}},
      {"expected", {{"speedup", 1}, {"acceptance", 1}, {"tokens_per_round", 1}, {"drafts_per_round", 1}}},
      {"measured", nullptr},
      {"found",
       {{"strategy", "x"},
        {"prompts", {{"file", "x"}, {"hash", "x"}, {"count", 1}, {"tokens", 1}}},
        {"evaluations", 1},
        {"seed", 1},
        {"seconds", 1},
        {"device", "x"},
        {"driver", "x"}}}};
  write("bad.json", profile.dump());
  expect_refused({"run", "-m", model(), "-p", "x", "--draft", "skip:" + file("bad.json")}, 2, "another model");
}

TEST_F(CliHostile, DeepJsonIsRefused) {
  const std::string deep = deep_json(60000);
  write("deep.json", R"({"format": "skipstone-profile", "version": )" + deep + "}");
  expect_refused({"run", "-m", model(), "-p", "x", "--draft", "skip:" + file("deep.json")}, 2, "nests deeper");
  write("deep.jsonl", "{\"prompt\": " + deep + "}\n");
  expect_refused({"bench", "-m", model(), "--prompts", file("deep.jsonl")}, 2, "nests deeper");
  fixtures::write_checkpoint(fixtures::tiny_checkpoint(), file("hf"));
  for (const char* name : {"config.json", "tokenizer_config.json"}) {
    fs::remove_all(file("bad"));
    fs::copy(file("hf"), file("bad"));
    fixtures::write_text(file("bad") + "/" + name, "{\"a\": " + deep + "}");
    expect_refused({"convert", file("bad"), file("out.gguf")}, 3, "nests deeper");
  }
}

/// What a cache folder may hold instead of what was put there: nothing of it may matter.
TEST_F(CliHostile, BadCacheFilesAreIgnoredAndReplaced) {
  const std::vector<std::string> arguments = {"run", "-m", model(), "-p", "Hello", "-n", "12", "--draft", "auto"};
  const Result good = run_here(arguments);
  ASSERT_EQ(good.code, 0) << good.error;
  const std::vector<fs::path> cached = this->cached();
  const std::string deep = R"({"key": )" + deep_json(60000) + R"(, "measured": )" + deep_json(60000) + R"(, "checksum": "0"})";
  for (const std::string& bad : {deep, std::string(), std::string(2u << 20, 'x')}) {
    for (const fs::path& path : cached) std::ofstream(path, std::ios::binary) << bad;
    const Result again = run_here(arguments);
    EXPECT_EQ(again.code, 0) << "signal " << again.signal << again.error;
    EXPECT_EQ(again.out, good.out);
    EXPECT_TRUE(has_other_than(bad, ".pipelines")) << "not replaced";
    EXPECT_TRUE(has_other_than(bad, "costs.json")) << "not replaced";
  }
}

TEST_F(CliHostile, AModelThatShrinksIsASentence) {
  fixtures::TinyConfig config;
  config.layers = 8;
  config.dim = 256;
  config.ffn = 1024;
  fixtures::write_tiny_model(config, file("source.gguf"));
  const std::vector<std::vector<std::string>> commands = {
      {"inspect", file("big.gguf")},
      {"quantize", file("big.gguf"), file("out.gguf"), "q4_k_m", "--force", "--threads", "1"},
      {"run", "-m", file("big.gguf"), "-p", "x", "-n", "2"}};
  for (const auto& arguments : commands) {
    for (const int milliseconds : {0, 5, 20, 60}) {
      fs::remove(file("big.gguf"));
      fs::copy_file(file("source.gguf"), file("big.gguf"));
      std::thread shrinker([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
        fs::resize_file(file("big.gguf"), 200000);
      });
      const Result result = run_here(arguments);
      shrinker.join();
      EXPECT_EQ(result.signal, 0) << arguments.front() << " after " << milliseconds << " ms";
      EXPECT_TRUE(result.code == 0 || result.code == 3) << arguments.front() << " " << result.code << "\n" << result.error;
      expect_plain(result.error);
      EXPECT_EQ(result.code == 3, contains(result.error, "error: ")) << result.error;
    }
  }
}

TEST_F(CliHostile, AFileWithMoreLayersThanItSaysIsRefused) {
  EditedModel().set("llama.block_count", std::uint32_t{2}).write(file("two.gguf"));
  expect_refused({"run", "-m", file("two.gguf"), "-p", "x"}, 3, "is of layer 2, but by its metadata the model has 2 layers");
  expect_refused({"inspect", file("two.gguf")}, 3, "is of layer 2");
}

TEST_F(CliHostile, InspectAndRunAgreeOnWhatRuns) {
  const std::pair<const char*, const char*> unknown[] = {{"tokenizer.ggml.model", "wordpiece"}, {"general.architecture", "mamba"}};
  for (const auto& [key, value] : unknown) {
    EditedModel().set(key, std::string(value)).write(file("unknown.gguf"));
    expect_refused({"run", "-m", file("unknown.gguf"), "-p", "x"}, 3, value);
    const Result result = run_here({"inspect", file("unknown.gguf"), "--json"});
    ASSERT_EQ(result.code, 0) << result.error;
    EXPECT_TRUE(contains(json::parse(result.out)["unsupported"].get<std::string>(), value)) << result.out;
  }
  EditedModel().set("tokenizer.ggml.model", std::string("gpt2")).set("tokenizer.ggml.pre", std::string("martian")).write(file("pre.gguf"));
  const Result run_result = run_here({"run", "-m", file("pre.gguf"), "-p", "x"}),
               inspected = run_here({"inspect", file("pre.gguf"), "--json"});
  EXPECT_EQ(run_result.code, 3) << run_result.error;
  if (inspected.code == 0) {
    EXPECT_NE(json::parse(inspected.out)["unsupported"], "");
  } else {
    EXPECT_EQ(inspected.code, 3) << inspected.error;
  }
}

TEST_F(CliHostile, NumbersAreTakenAsTheyAreWritten) {
  const std::vector<std::string> base = {"run", "-m", model(), "-p", "x", "-n", "2"};
  const auto with = [&](const std::string& option, const std::string& value) {
    auto all = base;
    all.insert(all.end(), {option, value});
    return all;
  };
  for (const char* value : {"18446744073709551616", "99999999999999999999999999", "-1", "0x10", "1e3", "7 ", "", "seven"}) {
    expect_refused(with("--seed", value), 2, "--seed");
    expect_refused(with("--top-k", value), 2, "--top-k");
    expect_refused(with("--ctx", value), 2, "--ctx");
    expect_refused({"quantize", model(), file("out.gguf"), "q8_0", "--threads", value}, 2, "--threads");
  }
  expect_refused(with("--temp", "1e999"), 2, "--temp");
  expect_refused({"run", "-m", model(), "-p", "x", "-n", "9223372036854775808"}, 2);
  expect_refused({"bench", "-m", model(), "-r", "99999999999999999999"}, 2, "--repeat");
  expect_refused({"tune", model(), "--prompts", "x.txt", "--seed", "18446744073709551616"}, 2, "--seed");
  Command environment{base};
  environment.environment = {{"SKIPSTONE_SEED", "18446744073709551616"}};
  const Result result = run(environment);
  EXPECT_EQ(result.code, 2);
  EXPECT_TRUE(contains(result.error, "18446744073709551616")) << result.error;
  EXPECT_EQ(run_here(with("--seed", "18446744073709551615")).code, 0);
  EXPECT_EQ(run_here(with("--ctx", "0128")).code, 0) << "decimal, whatever it begins with";
}

}  // namespace
}  // namespace skipstone::e2e
