// The command-line program as its users meet it: options, streams, exit codes.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "program.h"

namespace skipstone::e2e {
namespace {

using nlohmann::json;

class Cli : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new fixtures::TemporaryDirectory;
    fixtures::TinyConfig config;
    config.context = 2048;
    fixtures::write_tiny_model(config, model());
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string model() { return folder_->file("tiny.gguf"); }
  static std::string file(const std::string& name) { return folder_->file(name); }

  static fixtures::TemporaryDirectory* folder_;
};

fixtures::TemporaryDirectory* Cli::folder_ = nullptr;

TEST_F(Cli, JsonHasEverything) {
  const Result result = run({"run", "-m", model(), "-p", "Hello", "-n", "24", "--json"});
  ASSERT_EQ(result.code, 0) << result.error;
  const json object = json::parse(result.out);
  EXPECT_EQ(object["prompt"], "Hello");
  EXPECT_EQ(object["tokens"].size(), 24u);
  EXPECT_GT(object["prompt_tokens"].size(), 1u);
  EXPECT_EQ(object["stop_reason"], "max_tokens");
  EXPECT_EQ(object["model"]["path"], model());
  EXPECT_EQ(object["model"]["fingerprint"].get<std::string>().size(), 16u);
  EXPECT_FALSE(object["device"]["name"].get<std::string>().empty());
  EXPECT_EQ(object["attention_cosine"].size(), 4u);
  const json& statistics = object["statistics"];
  EXPECT_EQ(statistics["generated_tokens"], 24);
  EXPECT_EQ(statistics["prompt_tokens"], object["prompt_tokens"].size());
  EXPECT_EQ(statistics["sublayers"], 8);
  EXPECT_LE(statistics["accepted"], statistics["drafted"]);
  std::uint64_t drafted = 0;
  for (const json& position : statistics["by_position"]) drafted += position["drafted"].get<std::uint64_t>();
  EXPECT_EQ(drafted, statistics["drafted"].get<std::uint64_t>());
  for (const char* name : {"prompt_tokens_per_second", "generation_tokens_per_second", "draft_ms", "verify_ms", "round_ms", "host_ms"}) {
    EXPECT_TRUE(statistics[name].is_number()) << name;
  }
}

TEST_F(Cli, TokenIdsInPlaceOfAText) {
  const json text = json::parse(run({"run", "-m", model(), "-p", "Hello", "-n", "12", "--json"}).out);
  std::string ids;
  for (const json& id : text["prompt_tokens"]) ids += (ids.empty() ? "" : ",") + id.dump();
  std::ofstream(file("ids.txt")) << ids << "\n";
  const std::vector<std::string> rest = {"-n", "12", "--json"};
  for (const auto& [given, input] : std::vector<std::pair<std::string, std::string>>{{ids, ""}, {file("ids.txt"), ""}, {"-", ids + " "}}) {
    std::vector<std::string> arguments = {"run", "-m", model(), "--prompt-tokens", given};
    arguments.insert(arguments.end(), rest.begin(), rest.end());
    const Result result = run(Command{arguments, input});
    ASSERT_EQ(result.code, 0) << result.error;
    const json object = json::parse(result.out);
    EXPECT_EQ(object["prompt"], "Hello");
    EXPECT_EQ(object["prompt_tokens"], text["prompt_tokens"]);
    EXPECT_EQ(object["tokens"], text["tokens"]);
    EXPECT_EQ(object["text"], text["text"]);
    EXPECT_FALSE(object.contains("logits"));
  }
  EXPECT_EQ(run({"run", "-m", model(), "--prompt-tokens", ids, "-n", "12"}).out,
            run({"run", "-m", model(), "-p", "Hello", "-n", "12"}).out);
  // Nothing is added to them, no token that begins a text either.
  EXPECT_EQ(json::parse(run({"run", "-m", model(), "--prompt-tokens", "7", "-n", "1", "--json"}).out)["prompt_tokens"], json({7}));
}

TEST_F(Cli, APromptFromAFileOfThem) {
  std::ofstream(file("prompts.jsonl")) << "\"Hello\"\n\n{\"prompt\": \"Once upon\\n\"}\n";
  std::ofstream(file("whole.txt")) << "Hello\n";
  const auto prompt = [&](const std::vector<std::string>& source) {
    std::vector<std::string> arguments = {"run", "-m", model(), "-n", "4", "--json"};
    arguments.insert(arguments.end(), source.begin(), source.end());
    const Result result = run(arguments);
    EXPECT_EQ(result.code, 0) << result.error;
    return result.code == 0 ? json::parse(result.out)["prompt"].get<std::string>() : result.error;
  };
  EXPECT_EQ(prompt({"--prompts", file("prompts.jsonl")}), "Hello");
  EXPECT_EQ(prompt({"--prompts", file("prompts.jsonl"), "--line", "1"}), "Hello");
  EXPECT_EQ(prompt({"--prompts", file("prompts.jsonl"), "--line", "3"}), "Once upon\n");
  EXPECT_EQ(prompt({"--prompts", file("whole.txt")}), "Hello");
}

TEST_F(Cli, LogitsBehindThePrompt) {
  const auto object = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"run", "-m", model(), "--prompt-tokens", "1,80,90,100,75", "--json", "--ignore-end"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Result result = run(arguments);
    EXPECT_EQ(result.code, 0) << result.error;
    return json::parse(result.out);
  };
  const std::string all = std::to_string(fixtures::tiny_vocabulary_size());
  const json plain = object({"-n", "10"}), whole = object({"-n", "10", "--logits", all}), some = object({"-n", "10", "--logits", "3"});
  EXPECT_FALSE(plain.contains("logits"));
  EXPECT_EQ(whole["tokens"], plain["tokens"]);
  EXPECT_EQ(some["tokens"], plain["tokens"]);
  EXPECT_EQ(plain["tokens"].size(), 10u);
  const auto logits = whole["logits"].get<std::vector<float>>();
  ASSERT_EQ(logits.size(), fixtures::tiny_vocabulary_size());
  EXPECT_EQ(std::max_element(logits.begin(), logits.end()) - logits.begin(), plain["tokens"][0].get<std::ptrdiff_t>());
  EXPECT_EQ(some["logits"].get<std::vector<float>>(), std::vector<float>(logits.begin(), logits.begin() + 3));
  EXPECT_EQ(object({"-n", "0", "--logits", all})["logits"], whole["logits"]);
  EXPECT_EQ(object({"-n", "2", "--logits", all, "--draft", "none", "--temp", "1"})["logits"], whole["logits"]);
}

TEST_F(Cli, SaysWhatCameOfEachStrategy) {
  const std::vector<std::string> arguments = {"run", "-m", model(), "-p", "Hello", "-n", "40", "--draft", "ngram:k=4,w=3"};
  std::vector<std::string> as_json = arguments, as_text = arguments;
  as_json.emplace_back("--json");
  as_text.emplace_back("--stats");
  const Result first = run(as_json);
  ASSERT_EQ(first.code, 0) << first.error;
  const json statistics = json::parse(first.out)["statistics"];
  std::uint64_t accepted = 0, rows = 0;
  for (const json& strategy : statistics["by_strategy"]) {
    rows += strategy["rows"].get<std::uint64_t>();
    const auto lengths = strategy["won_by_length"].get<std::vector<std::uint64_t>>();
    for (std::size_t i = 0; i < lengths.size(); ++i) accepted += (i + 1) * lengths[i];
  }
  EXPECT_EQ(accepted, statistics["accepted"].get<std::uint64_t>());
  EXPECT_GT(rows, 0u);
  const Result second = run(as_text);
  EXPECT_NE(second.error.find("rows of bigram"), std::string::npos) << second.error;
}

TEST_F(Cli, DraftingChangesNoTokenGreedyOrSampled) {
  for (const std::vector<std::string>& sampling : {std::vector<std::string>{"--temp", "0"}, {"--temp", "0.9", "--seed", "7"}}) {
    std::vector<std::string> arguments = {"run", "-m", model(), "-p", "Once", "-n", "40", "--json", "--draft", "none"};
    arguments.insert(arguments.end(), sampling.begin(), sampling.end());
    const Result plain = run(arguments);
    ASSERT_EQ(plain.code, 0) << plain.error;
    arguments[9] = "asd:gamma=0,k=6,m=1";
    const Result drafted = run(arguments);
    ASSERT_EQ(drafted.code, 0) << drafted.error;
    const json a = json::parse(plain.out), b = json::parse(drafted.out);
    EXPECT_EQ(a["tokens"], b["tokens"]);
    EXPECT_EQ(a["text"], b["text"]);
    EXPECT_EQ(a["statistics"]["drafted"], 0);
    EXPECT_GT(b["statistics"]["drafted"], 0);
  }
}

TEST_F(Cli, TheControllerIsTheDefaultAndMeasuresOnce) {
  Command command{{"run", "-m", model(), "-p", "Hello", "-n", "24", "--json"}, {}, {{"SKIPSTONE_CACHE", file("cache")}}};
  const auto costs = [&] {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(file("cache"))) {
      files += entry.path().filename().string().find("costs") != std::string::npos ? 1 : 0;
    }
    return files;
  };
  const Result result = run(command);
  ASSERT_EQ(result.code, 0) << result.error;
  const json first = json::parse(result.out);
  EXPECT_EQ(first["draft"], "auto");
  EXPECT_EQ(costs(), 1u);
  const json second = json::parse(run(command).out);
  EXPECT_EQ(costs(), 1u);
  command.arguments.insert(command.arguments.end(), {"--draft", "none"});
  const json plain = json::parse(run(command).out);
  EXPECT_EQ(first["tokens"], plain["tokens"]);
  EXPECT_EQ(second["tokens"], plain["tokens"]);
}

TEST_F(Cli, PlainModeWritesPromptAndContinuationAlone) {
  const Result object = run({"run", "-m", model(), "-p", "Hello", "-n", "16", "--json"});
  ASSERT_EQ(object.code, 0) << object.error;
  const std::string text = json::parse(object.out)["text"];
  const Result plain = run({"run", "-m", model(), "-p", "Hello", "-n", "16"});
  EXPECT_EQ(plain.out, "Hello" + text + "\n");
  EXPECT_FALSE(contains(plain.error, "generation")) << plain.error;
  const Result alone = run({"run", "-m", model(), "-p", "Hello", "-n", "16", "--no-echo", "--stats"});
  EXPECT_EQ(alone.out, text + "\n");
  for (const char* part :
       {"prompt", "generation", "rounds", "drafted", "accepted", "tokens per round", "skipped sublayers", "draft", "verify", "host"}) {
    EXPECT_TRUE(contains(alone.error, part)) << part << "\n" << alone.error;
  }
}

TEST_F(Cli, ColourOnlyWhereItIsAskedFor) {
  const std::vector<std::string> arguments = {"run", "-m", model(), "-p", "Hello", "-n", "8", "--color"};
  EXPECT_FALSE(contains(run(arguments).out, "\033["));  // a pipe is no terminal
  std::vector<std::string> always = arguments;
  always.push_back("always");
  EXPECT_TRUE(contains(run(always).out, "\033[0;2mHello"));
}

TEST_F(Cli, PromptFromStandardInputAndFromAFile) {
  const std::string expected = json::parse(run({"run", "-m", model(), "-p", "Hi there", "-n", "4", "--json"}).out)["text"];
  Command piped{{"run", "-m", model(), "-f", "-", "-n", "4", "--json"}, "Hi there\n"};
  const json from_input = json::parse(run(piped).out);
  EXPECT_EQ(from_input["prompt"], "Hi there");
  EXPECT_EQ(from_input["text"], expected);
  std::ofstream(file("prompt.txt")) << "Hi there";
  EXPECT_EQ(json::parse(run({"run", "-m", model(), "-f", file("prompt.txt"), "-n", "4", "--json"}).out)["text"], expected);
  EXPECT_EQ(json::parse(run({"run", "-m", model(), "Hi there", "-n", "4", "--json"}).out)["text"], expected);
  EXPECT_EQ(json::parse(run({"run", "-m", model(), "-n", "4", "--json", "--", "Hi there"}).out)["text"], expected);
}

TEST_F(Cli, OptionsComeFromTheEnvironmentAndTheCommandLineWins) {
  Command with{{"run", "-p", "x", "--json"}, {}, {{"SKIPSTONE_MODEL", model()}, {"SKIPSTONE_PREDICT", "5"}, {"SKIPSTONE_DRAFT", "none"}}};
  const Result result = run(with);
  ASSERT_EQ(result.code, 0) << result.error;
  EXPECT_EQ(json::parse(result.out)["tokens"].size(), 5u);
  EXPECT_EQ(json::parse(result.out)["draft"], "none");
  with.arguments.insert(with.arguments.end(), {"-n", "3"});
  EXPECT_EQ(json::parse(run(with).out)["tokens"].size(), 3u);
}

TEST_F(Cli, EnvironmentVariablesAreDefaultsAndNeverConflict) {
  std::ofstream(file("prompt.txt")) << "Hi there";
  const std::string expected = json::parse(run({"run", "-m", model(), "-p", "Hi there", "-n", "4", "--json"}).out)["text"];
  const std::map<std::string, std::string> set{{"SKIPSTONE_MODEL", model()},          {"SKIPSTONE_PROMPT", "Another"},
                                               {"SKIPSTONE_PROMPT_TOKENS", "1,2"},    {"SKIPSTONE_SYSTEM", "Be brief."},
                                               {"SKIPSTONE_CHAT_TEMPLATE", "chatml"}, {"SKIPSTONE_LOGITS", "4"},
                                               {"SKIPSTONE_ONLINE", "0.1"},           {"SKIPSTONE_DEVICES", "7,8"}};
  const auto expect_text = [&](std::vector<std::string> arguments) {
    const Result result = run(Command{std::move(arguments), {}, set});
    ASSERT_EQ(result.code, 0) << result.error;
    EXPECT_EQ(json::parse(result.out)["text"], expected);
  };
  // Each is given instead of what a variable says, or beside variables of options that it has no use for.
  expect_text({"run", "-f", file("prompt.txt"), "-n", "4", "--json", "--device", "0"});
  expect_text({"run", "-p", "Hi there", "-n", "4", "--json", "--device", "0", "--draft", "suffix"});
  // Of two variables that exclude each other one is taken.
  const Result both = run(Command{{"run", "-n", "2", "--json", "--device", "0"}, {}, set});
  ASSERT_EQ(both.code, 0) << both.error;
  EXPECT_EQ(json::parse(both.out)["prompt"], "Another");
  // On the command line the same options do conflict.
  EXPECT_EQ(run({"run", "-m", model(), "-p", "x", "-f", file("prompt.txt")}).code, 2);
  EXPECT_EQ(run({"run", "-m", model(), "-p", "x", "--device", "0", "--devices", "0"}).code, 2);
  EXPECT_EQ(run({"run", "-m", model(), "-p", "x", "--system", "x"}).code, 2);
  // A value that is wrong is still refused where it takes effect, and --help shows the variables.
  EXPECT_EQ(run(Command{{"run", "-p", "x"}, {}, {{"SKIPSTONE_PREDICT", "many"}}}).code, 2);
  EXPECT_TRUE(contains(run(Command{{"run", "--help"}, {}, set}).out, "[SKIPSTONE_SYSTEM]"));
}

TEST_F(Cli, VariablesOfOtherCommandsDoNotConflict) {
  const std::map<std::string, std::string> set{{"SKIPSTONE_MODEL", model()},    {"SKIPSTONE_PROMPTS", file("none.jsonl")},
                                               {"SKIPSTONE_LIMIT", "2"},        {"SKIPSTONE_OUTPUT", file("out")},
                                               {"SKIPSTONE_COSINE", "1"},       {"SKIPSTONE_DRAFT", "suffix"},
                                               {"SKIPSTONE_PRESET", "dv-fig4"}, {"SKIPSTONE_PLOT", file("plot")},
                                               {"SKIPSTONE_FORMAT", "csv"}};
  std::ofstream(file("t.jinja")) << "{{ a }}";
  std::ofstream(file("v.json")) << R"({"a": 7})";
  const Result alone = run(Command{{"template", "--jinja", file("t.jinja"), "--variables", file("v.json")}, {}, set});
  EXPECT_EQ(alone.code, 0) << alone.error;
  EXPECT_TRUE(contains(alone.out, "7"));
  const Result tensors = run(Command{{"inspect", model(), "--tensors"}, {}, set});
  EXPECT_EQ(tensors.code, 0) << tensors.error;
  const Result bench = run(Command{{"bench", "-p", "8", "-n", "2", "-r", "1", "-o", "json"}, {}, set});
  EXPECT_EQ(bench.code, 0) << bench.error;
  EXPECT_EQ(json::parse(bench.out).size(), 2u);
}

TEST_F(Cli, ClosedPipeIsNoError) {
  const Result result = run({.arguments = {"run", "-m", model(), "-p", "Hello, this is a prompt", "-n", "-1"}, .close_after = 10});
  EXPECT_EQ(result.code, 0) << "signal " << result.signal;
  EXPECT_FALSE(contains(result.error, "error")) << result.error;  // a busy machine may have warnings
}

TEST_F(Cli, ControlCStopsWithTheStatisticsSoFar) {
  const Result result = run({.arguments = {"run", "-m", model(), "-p", "Hello", "-n", "-1"}, .interrupt_at_output = true});
  EXPECT_EQ(result.code, 130) << "signal " << result.signal << result.error;
  EXPECT_TRUE(contains(result.error, "interrupted")) << result.error;
  EXPECT_TRUE(contains(result.error, "cancelled")) << result.error;
  EXPECT_TRUE(contains(result.error, "tokens per round")) << result.error;
}

TEST_F(Cli, OutputThatCannotBeWrittenIsAnError) {
  const Result result = run({.arguments = {"run", "-m", model(), "-p", "Hello", "-n", "4"}, .out = Stream::refusing});
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(contains(result.error, "standard output cannot be written")) << result.error;
}

TEST_F(Cli, Devices) {
  const Result text = run({"devices"});
  ASSERT_EQ(text.code, 0) << text.error;
  for (const char* part : {"* ", "kind", "tier", "driver", "Vulkan", "memory", "subgroup", "limits", "chosen: "}) {
    EXPECT_TRUE(contains(text.out, part)) << part << "\n" << text.out;
  }
  EXPECT_EQ(run({"--list-devices"}).out, text.out);
  const json object = json::parse(run({"devices", "--json"}).out);
  ASSERT_FALSE(object["devices"].empty());
  EXPECT_GT(object["devices"][0]["subgroup"]["size"], 0);
}

TEST_F(Cli, Inspect) {
  const Result text = run({"inspect", model(), "--ctx", "128", "--tensors"});
  ASSERT_EQ(text.code, 0) << text.error;
  for (const char* part : {"general.architecture", "F32", "parameters", "context of 128 tokens", "blk.0.attn_q.weight", "4 layers",
                           "\n  all 4 layers global, MLP gated by SiLU\n  RoPE base 10000, pairs of neighbours\n"}) {
    EXPECT_TRUE(contains(text.out, part)) << part << "\n" << text.out;
  }
  const json object = json::parse(run({"inspect", model(), "--ctx", "128", "--json"}).out);
  EXPECT_EQ(object["memory_plan"]["context"], 128);
  EXPECT_EQ(object["model"]["layers"], 4);
  EXPECT_EQ(object["model"]["layer_groups"].size(), 1u);
  EXPECT_EQ(object["model"]["layer_groups"][0]["last"], 3);
  EXPECT_EQ(object["model"]["layer_groups"][0]["norm_after"], "none");
  EXPECT_EQ(object["model"]["attention_softcap"], 0);
  std::uint64_t sum = 0;
  for (const json& tensor : object["tensors"]) sum += tensor["bytes"].get<std::uint64_t>();
  EXPECT_GT(sum, 0u);
  EXPECT_LT(sum, object["bytes"].get<std::uint64_t>());
}

TEST_F(Cli, AHeadInASecondFile) {
  fixtures::TinyConfig with_head;
  with_head.prediction_layers = 1;
  const std::string head = file("mtp-tiny.gguf");
  fixtures::write_tiny_model(with_head, head);
  const Result text = run({"inspect", model(), "--mtp-file", head, "--tensors"});
  for (const std::string& part : {model() + "\n" + head + "\nGGUF version", std::string("blk.4.nextn.eh_proj.weight"),
                                  std::string("\n  a head for multi-token prediction")}) {
    EXPECT_TRUE(contains(text.out, part)) << part << "\n" << text.out << text.error;
  }
  EXPECT_EQ(json::parse(run({"inspect", model(), "--mtp-file", head, "--json"}).out)["model"]["prediction_heads"], 1);
  const Result alone = run({"run", "-m", model(), "-p", "Once", "-n", "12"});
  const Result with = run({"run", "-m", model(), "-p", "Once", "-n", "12", "--mtp-file", head});
  EXPECT_EQ(with.code, 0) << with.error;
  EXPECT_EQ(with.out, alone.out);
}

TEST_F(Cli, InspectPlansTheCache) {
  fixtures::TinyConfig tiny;
  tiny.head_dim = 64;
  fixtures::TemporaryDirectory folder;
  const std::string path = folder.file("wide.gguf");
  fixtures::write_tiny_model(tiny, path);
  const std::uint64_t vectors = 2 * std::uint64_t{tiny.layers} * tiny.kv_heads * 128;  // K and V of 128 positions
  for (const auto& [kv, bytes] : {std::pair{"f32", 64 * 4}, std::pair{"f16", 64 * 2}, std::pair{"q8_0", 64 * 34 / 32},
                                  std::pair{"q4_0", 64 * 18 / 32}, std::pair{"q5_1", 64 * 24 / 32}}) {
    const json plan = json::parse(run({"inspect", path, "--ctx", "128", "--kv", kv, "--json"}).out)["memory_plan"];
    EXPECT_EQ(plan["kv_type"], kv);
    EXPECT_EQ(plan["kv"], vectors * static_cast<std::uint64_t>(bytes));
  }
  const json mixed = json::parse(run({"inspect", path, "--ctx", "128", "--kv", "q8_0", "--kv-v", "q4_0", "--json"}).out)["memory_plan"];
  EXPECT_EQ(mixed["kv_type"], "q8_0/q4_0");
  EXPECT_EQ(mixed["kv"], vectors / 2 * (68 + 36));
  const json llama = json::parse(run({"inspect", path, "--ctx", "128", "--cache-type-k", "q5_1", "--json"}).out)["memory_plan"];
  EXPECT_EQ(llama["kv_type"], "q5_1/f16");
}

TEST_F(Cli, DoctorPassesAndPrintsAVerdict) {
  const Result result = run({"doctor"});
  EXPECT_EQ(result.code, 0) << result.out << result.error;
  for (const char* part : {"--- skipstone doctor ---", "device", "driver", "tier", "GB/s", "PASSED"}) {
    EXPECT_TRUE(contains(result.out, part)) << part << "\n" << result.out;
  }
  EXPECT_FALSE(contains(result.out, "FAILED")) << result.out;
}

}  // namespace
}  // namespace skipstone::e2e
