// skipstone bench: what it measures is checked against `skipstone run`, what it writes is read back.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "program.h"

namespace skipstone::e2e {
namespace {

using nlohmann::json;
using Arguments = std::vector<std::string>;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class CliBench : public testing::Test {
 protected:
  void SetUp() override {
    fixtures::write_tiny_model({}, model());
    write("two.jsonl", "{\"prompt\": \"Hello there\"}\n\"Once upon\"\n");
  }
  std::string model() const { return folder_.file("tiny.gguf"); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.file(name)) << text;
    return folder_.file(name);
  }
  /// bench on the tiny model and both prompts, 24 tokens each, with a drafter that always drafts.
  Arguments bench(const Arguments& more) const {
    Arguments arguments = {"bench", model(), "--prompts", folder_.file("two.jsonl"), "-n", "24", "--draft", "none,asd:gamma=0,k=3,m=1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  void expect_refusal(const Arguments& arguments, int code, const std::string& part) const {
    const Result result = run(arguments);
    EXPECT_EQ(result.code, code) << result.error;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.error.rfind("error: ", 0), 0u) << result.error;
    EXPECT_TRUE(contains(result.error, part)) << "wanted: " << part << "\n" << result.error;
  }
  /// No temporary file is left in the folder.
  void expect_no_remains() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) EXPECT_NE(entry.path().extension(), ".tmp");
  }

  fixtures::TemporaryDirectory folder_;
};

TEST_F(CliBench, JsonHasTheSetupTheDraftersAndEveryRun) {
  const Result result = run(bench({"--format", "json", "--repeat", "2"}));
  ASSERT_EQ(result.code, 0) << result.error;
  const json all = json::parse(result.out);
  ASSERT_EQ(all.size(), 1u);
  const json& sweep = all[0];
  for (const char* name : {"date", "version", "commit", "device", "driver", "tier", "fingerprint", "prompts_file"}) {
    EXPECT_FALSE(sweep[name].get<std::string>().empty()) << name;
  }
  EXPECT_EQ(sweep["context"], 256);
  EXPECT_EQ(sweep["prompts_used"], 2);
  ASSERT_EQ(sweep["drafters"].size(), 2u);
  const json &plain = sweep["drafters"][0], &drafted = sweep["drafters"][1];
  EXPECT_EQ(plain["drafter"], "none");
  EXPECT_EQ(plain["drafted"], 0);
  EXPECT_TRUE(plain["acceptance"].is_null());
  EXPECT_EQ(plain["tokens"], 2 * 2 * 24);
  EXPECT_EQ(plain["tokens_per_round"], 1.0);
  EXPECT_EQ(drafted["drafter"], "asd:gamma=0,k=3,m=1");
  EXPECT_GT(drafted["drafted"], 0);
  EXPECT_EQ(drafted["identical"], true);
  EXPECT_GT(drafted["speedup_median"], 0);
  std::uint64_t by_position = 0;
  for (const json& position : drafted["by_position"]) by_position += position["drafted"].get<std::uint64_t>();
  EXPECT_EQ(by_position, drafted["drafted"].get<std::uint64_t>());
  double parts = 0;
  for (const char* part : {"draft_seconds", "verify_seconds", "round_seconds", "host_seconds"}) parts += drafted[part].get<double>();
  EXPECT_NEAR(parts, drafted["generation_seconds"].get<double>(), 1e-9);
  // Who is first changes from prompt to prompt.
  ASSERT_EQ(sweep["runs"].size(), 8u);
  EXPECT_EQ(sweep["runs"][0]["drafter"], "none");
  EXPECT_EQ(sweep["runs"][2]["drafter"], "asd:gamma=0,k=3,m=1");
  EXPECT_EQ(sweep["runs"][2]["line"], 2);
  EXPECT_EQ(sweep["runs"][7]["repeat"], 2);
}

TEST_F(CliBench, TheOtherFormats) {
  const Result csv = run(bench({"--format", "csv"}));
  ASSERT_EQ(csv.code, 0) << csv.error;
  const std::vector<std::string> lines = lines_of(csv.out);
  ASSERT_EQ(lines.size(), 3u);
  const auto fields = [](const std::string& line) {
    bool quoted = false;
    return 1 + std::count_if(line.begin(), line.end(), [&](char c) {
             quoted ^= c == '"';
             return c == ',' && !quoted;
           });
  };
  EXPECT_EQ(fields(lines[1]), fields(lines[0]));
  EXPECT_EQ(fields(lines[2]), fields(lines[0]));
  EXPECT_TRUE(contains(lines[2], "\"asd:gamma=0,k=3,m=1\"")) << lines[2];

  const Result jsonl = run(bench({"--format", "jsonl"}));
  ASSERT_EQ(jsonl.code, 0) << jsonl.error;
  std::vector<std::string> records;
  for (const std::string& line : lines_of(jsonl.out)) records.push_back(json::parse(line)["record"]);
  EXPECT_EQ(records, (std::vector<std::string>{"setup", "drafter", "drafter", "run", "run", "run", "run"}));

  const Result markdown = run(bench({}));
  ASSERT_EQ(markdown.code, 0) << markdown.error;
  for (const char* part : {"- device: ", "speed-up", "identical", "tokens/round", "Acceptance by draft position", "2 used"}) {
    EXPECT_TRUE(contains(markdown.out, part)) << part << "\n" << markdown.out;
  }
}

TEST_F(CliBench, SavedTokensAreThoseOfRun) {
  const Arguments sampling = {"--temp", "0.9", "--seed", "7"};
  Arguments arguments = bench({"--save-tokens", folder_.file("tokens.jsonl"), "-o", folder_.file("result.md")});
  arguments.insert(arguments.end(), sampling.begin(), sampling.end());
  const Result result = run(arguments);
  ASSERT_EQ(result.code, 0) << result.error;
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(contains(fixtures::bytes_of(folder_.file("result.md")), "temperature 0.9"));
  const std::vector<std::string> lines = lines_of(fixtures::bytes_of(folder_.file("tokens.jsonl")));
  ASSERT_EQ(lines.size(), 2u);
  const Arguments prompts = {"Hello there", "Once upon"};
  for (std::size_t i = 0; i < 2; ++i) {
    const json saved = json::parse(lines[i]);
    Arguments same = {"run", "-m", model(), "-p", prompts[i], "-n", "24", "--draft", "none", "--json"};
    same.insert(same.end(), sampling.begin(), sampling.end());
    const json expected = json::parse(run(same).out);
    EXPECT_EQ(saved["prompt"], prompts[i]);
    EXPECT_EQ(saved["prompt_tokens"], expected["prompt_tokens"]);
    EXPECT_EQ(saved["tokens"], expected["tokens"]);
  }
  expect_no_remains();
}

TEST_F(CliBench, PromptsThatDoNotFitAreSkippedAndCounted) {
  const std::string file = write("long.jsonl", "\"short\"\n\"" + std::string(300, 'x') + "\"\n");
  const Result result = run({"bench", model(), "--prompts", file, "-n", "8", "--draft", "none", "--format", "json"});
  ASSERT_EQ(result.code, 0) << result.error;
  EXPECT_TRUE(contains(result.error, "warning: ") && contains(result.error, "line 2")) << result.error;
  EXPECT_EQ(json::parse(result.out)[0]["prompts_used"], 1);
  EXPECT_EQ(json::parse(result.out)[0]["prompts_skipped"], 1);
  expect_refusal({"bench", model(), "--prompts", file, "-n", "256"}, 2, "every prompt");
}

TEST_F(CliBench, TwoModelsAndALimit) {
  const Result result = run(bench({"-m", model(), "--limit", "1", "--format", "json"}));
  ASSERT_EQ(result.code, 0) << result.error;
  const json all = json::parse(result.out);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1]["prompts_used"], 1);
  // What was measured is not lost with a later model.
  const Result half = run(bench({"-m", folder_.file("missing.gguf"), "--format", "json"}));
  EXPECT_EQ(half.code, 3) << half.error;
  EXPECT_TRUE(contains(half.error, "missing.gguf")) << half.error;
  EXPECT_EQ(json::parse(half.out).size(), 1u);
}

TEST_F(CliBench, ControlCPrintsWhatIsComplete) {
  std::string prompts;
  for (int i = 0; i < 2000; ++i) prompts += "\"prompt number " + std::to_string(i) + "\"\n";
  Command command{{"bench", model(), "--prompts", write("many.jsonl", prompts), "-n", "64", "--format", "json"}, {}, {}, {}, 0, 0};
  command.interrupt_at_error = "speed-up so far";
  const Result result = run(command);
  EXPECT_EQ(result.code, 130) << "signal " << result.signal << result.error;
  EXPECT_TRUE(contains(result.error, "interrupted")) << result.error;
  const json sweep = json::parse(result.out)[0];
  EXPECT_EQ(sweep["interrupted"], true);
  EXPECT_GT(sweep["prompts_used"], 0);
  EXPECT_LT(sweep["prompts_used"], 2000);
  EXPECT_EQ(sweep["drafters"][1]["prompts"], sweep["prompts_used"]);
}

TEST_F(CliBench, TestsInTheFieldsNotation) {
  const Result result = run({"bench", "-m", model(), "-p", "16", "-n", "4", "-d", "0,32", "-pg", "8,2", "-r", "2", "-o", "json"});
  ASSERT_EQ(result.code, 0) << result.error;
  const json records = json::parse(result.out);
  std::vector<std::string> names;
  for (const json& record : records) {
    names.push_back(record["test"]);
    EXPECT_EQ(record["samples_ns"].size(), 2u);
    EXPECT_GT(record["median_ns"], 0);
    const double tokens = record["n_prompt"].get<double>() + record["n_gen"].get<double>();
    const double first = record["samples_ns"][0].get<double>(), second = record["samples_ns"][1].get<double>();
    EXPECT_NEAR(record["median_ns"].get<double>(), (first + second) / 2, 1.0);
    EXPECT_NEAR(record["median_ts"].get<double>() / (1e9 * tokens * (1 / first + 1 / second) / 2), 1.0, 1e-3);
    EXPECT_EQ(record["context"], 256);
    EXPECT_EQ(record["model_type"], "F32");
    EXPECT_EQ(record["kv_type"], "f16");
    EXPECT_EQ(record["fingerprint"].get<std::string>().size(), 16u);
    EXPECT_EQ(record["bandwidth_share"].is_null(), record["n_prompt"] != 0);
  }
  EXPECT_EQ(names, (Arguments{"pp16", "tg4", "pp8+tg2", "pp16 @ d32", "tg4 @ d32", "pp8+tg2 @ d32"}));
  EXPECT_GT(records[4]["bytes_per_pass"], records[1]["bytes_per_pass"]);
}

TEST_F(CliBench, RowsAndWhatTheyCost) {
  const Result result = run({"bench", model(), "--rows", "2,4", "-r", "3", "--format", "jsonl", "-o", folder_.file("rows.jsonl")});
  ASSERT_EQ(result.code, 0) << result.error;
  EXPECT_EQ(result.out, "");
  const std::vector<std::string> lines = lines_of(fixtures::bytes_of(folder_.file("rows.jsonl")));
  ASSERT_EQ(lines.size(), 3u);
  const std::uint32_t rows[] = {1, 2, 4};
  const double one = json::parse(lines[0])["ms"];
  for (std::size_t i = 0; i < 3; ++i) {
    const json record = json::parse(lines[i]);
    EXPECT_EQ(record["rows"], rows[i]);
    EXPECT_GT(record["ms"], 0);
    EXPECT_DOUBLE_EQ(record["v"].get<double>(), record["ms"].get<double>() / one);
    EXPECT_EQ(record["samples_ns"].size(), 3u);
  }
}

TEST_F(CliBench, SyntheticModelsNeedNoFile) {
  const Result result = run({"bench", "--synthetic", "stories-260k:q4_0,f16", "-n", "4", "-r", "1", "-o", "json"});
  ASSERT_EQ(result.code, 0) << result.error;
  const json records = json::parse(result.out);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0]["model_type"], "Q4_0");
  EXPECT_EQ(records[1]["model_type"], "F16");
  EXPECT_EQ(records[0]["model_n_params"], records[1]["model_n_params"]);
  EXPECT_LT(records[0]["model_size"], records[1]["model_size"]);
  EXPECT_NE(records[0]["fingerprint"], records[1]["fingerprint"]);
}

TEST_F(CliBench, SyntheticAcceptanceIsDrawnAndTheSameEachTime) {
  const auto drafters = [&](Arguments arguments) {
    arguments.insert(arguments.begin(), "bench");
    arguments.insert(arguments.end(), {"-n", "61", "--format", "json"});
    const Result result = run(arguments);
    EXPECT_EQ(result.code, 0) << result.error;
    const json sweep = json::parse(result.out)[0];
    EXPECT_FALSE(sweep["synthetic_acceptance"].is_null());
    for (const json& drafter : sweep["drafters"]) EXPECT_TRUE(drafter["identical"].is_null()) << drafter;
    return sweep["drafters"];
  };
  // Made-up tokens: a file, and a model without one.
  json all = drafters({model(), "--synthetic-acceptance", "1", "--draft", "exit:1,k=5", "-p", "16"});
  EXPECT_EQ(all[1]["acceptance"], 1.0);
  EXPECT_EQ(all[1]["tokens_per_round"], 6.0);
  EXPECT_EQ(all[0]["tokens_per_round"], 1.0);
  all = drafters({"--synthetic", "stories-260k:q4_0", "--synthetic-acceptance", "1,0.0", "--draft", "asd:gamma=0,k=5"});
  EXPECT_EQ(all[1]["tokens_per_round"], 2.0);
  // Texts, and probabilities that are drawn.
  const Arguments drawn = {model(), "--prompts", folder_.file("two.jsonl"), "--synthetic-acceptance", "0.7,0.4", "--draft", "exit:1,k=3"};
  all = drafters(drawn);
  EXPECT_GT(all[1]["accepted"], 0);
  EXPECT_LT(all[1]["accepted"], all[1]["drafted"]);
  EXPECT_EQ(drafters(drawn)[1]["by_position"], all[1]["by_position"]);

  const Result text = run({"bench", model(), "--synthetic-acceptance", "0.9", "-n", "8"});
  ASSERT_EQ(text.code, 0) << text.error;
  EXPECT_TRUE(contains(text.out, "- **synthetic acceptance** 0.9: ") && contains(text.out, "128 made-up tokens")) << text.out;
  EXPECT_FALSE(contains(text.out, "identical")) << text.out;
}

TEST_F(CliBench, BadSyntheticAcceptance) {
  const auto refused = [&](const Arguments& more, const std::string& part) {
    Arguments arguments = {"bench", model(), "--synthetic-acceptance"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_refusal(arguments, 2, part);
  };
  refused({"1.5"}, "1.5 is no probability");
  refused({"0.5,-1"}, "-1 is no probability");
  refused({"nan"}, "no probability");
  refused({"half"}, "half");
  refused({"0.5", "--verify", "rejection"}, "choose one");
  refused({"0.5", "--draft", "sequential"}, "lossy");
  refused({"0.5", "--save-tokens", folder_.file("tokens.jsonl")}, "--save-tokens");
  refused({"0.5", "--rows", "4"}, "--rows");
  refused({"0.5", "--preset", "spec-bench"}, "--prompts FILE");
  refused({"0.5", "-p", "200", "--ctx", "256"}, "no room for 128 more in a context of 256");
  expect_refusal(bench({"--synthetic-acceptance", "0.5", "-p", "4"}), 2, "-p");
  expect_no_remains();
}

TEST_F(CliBench, SpecBenchByTask) {
  const std::string file = write("tasks.jsonl",
                                 "{\"turns\": [\"Hello there\"], \"category\": \"writing\"}\n"
                                 "{\"turns\": [\"Once upon\"], \"category\": \"coding\"}\n"
                                 "{\"turns\": [\"a b a b\"], \"category\": \"coding\"}\n"
                                 "{\"turns\": [\"Translate\"], \"category\": \"translation\"}\n");
  const Arguments arguments = {"bench",     model(),
                               "--prompts", file,
                               "--preset",  "spec-bench",
                               "--limit",   "1",
                               "-n",        "12",
                               "--ctx",     "64",
                               "--plot",    folder_.file("tasks.svg"),
                               "-o",        folder_.file("tasks.json"),
                               "--format",  "json"};
  const Result result = run(arguments);
  ASSERT_EQ(result.code, 0) << result.error;
  const json sweep = json::parse(fixtures::bytes_of(folder_.file("tasks.json")))[0];
  EXPECT_EQ(sweep["prompts_used"], 2);
  ASSERT_EQ(sweep["tasks"].size(), 2 * sweep["drafters"].size());
  EXPECT_EQ(sweep["tasks"][0]["task"], "multi-turn");
  std::vector<std::string> names;
  for (const json& drafter : sweep["drafters"]) {
    names.push_back(drafter["drafter"]);
    EXPECT_EQ(drafter["identical"], true) << drafter;
  }
  EXPECT_EQ(names.front(), "none");
  EXPECT_EQ(names.back(), "auto");
  EXPECT_TRUE(contains(fixtures::bytes_of(folder_.file("tasks.svg")), ">translation<"));
}

TEST_F(CliBench, TheBundledModelIsTheDefault) {
  const Result result = run({"bench", "-p", "16", "-n", "4", "-r", "2", "--no-warmup"});
  ASSERT_EQ(result.code, 0) << result.error;
  for (const char* part : {"| skipstone-py", "pp16", "tg4", " ± ", "copy bandwidth"}) {
    EXPECT_TRUE(contains(result.out, part)) << part << "\n" << result.out;
  }
}

TEST_F(CliBench, TheComparisonToolRunsBothInTurn) {
  const auto compare = [&](const Arguments& more) {
    Command command{{"-m", model(), "-p", "8", "-n", "2", "-r", "2"}, {}, {}, {}, 0, 0};
    command.program = SKIPSTONE_TOOLS "/compare-llama";
    command.arguments.insert(command.arguments.end(), more.begin(), more.end());
    return run(command);
  };
  if (std::system("python3 -c '' 2> /dev/null") != 0) GTEST_SKIP() << "the tool is Python";
  // Both programs speak the same records; here one stands for both.
  const std::string program = SKIPSTONE_PROGRAM;
  const Result result = compare({"--llama", program + " bench", "--skipstone", program, "-o", "json", "--env", "A=B"});
  ASSERT_EQ(result.code, 0) << result.error;
  const json tests = json::parse(result.out)["tests"];
  ASSERT_EQ(tests.size(), 2u);
  EXPECT_EQ(tests[0]["test"], "pp8");
  EXPECT_EQ(tests[1]["test"], "tg2");
  EXPECT_EQ(tests[1]["turns"], 2);
  EXPECT_DOUBLE_EQ(tests[1]["ratio"].get<double>(), tests[1]["skipstone_ts"].get<double>() / tests[1]["llama_ts"].get<double>());
  const Result table = compare({"--llama", program + " bench", "--skipstone", program});
  EXPECT_TRUE(contains(table.out, "| tiny.gguf | tg2 | ")) << table.out << table.error;
  for (const Arguments& bad : {Arguments{"--llama", "no-such-program"}, Arguments{"--llama", "false"}, Arguments{"--llama", "echo no"}}) {
    const Result refused = compare(bad);
    EXPECT_EQ(refused.code, 1);
    EXPECT_EQ(refused.error.rfind("error: ", 0), 0u) << refused.error;
  }
}

TEST_F(CliBench, BadTests) {
  const auto refused = [&](const Arguments& more, const std::string& part) {
    Arguments arguments = {"bench", model()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_refusal(arguments, 2, part);
  };
  refused({"-p", "5,x"}, "-p 5,x");
  refused({"-n", "-1"}, "-1");
  refused({"-pg", "16"}, "--pg 16");
  refused({"--rows", "1000"}, "--rows 1000");
  refused({"-p", "512", "--ctx", "256"}, "--ctx is 256");
  refused({"-p", "0", "-n", "0"}, "nothing to measure");
  refused({"-r", "0"}, "--repeat 0");
  refused({"--limit", "3"}, "--prompts");
  refused({"--format", "csv", "-o", "json"}, "two formats");
  expect_refusal({"bench", "--synthetic", "llama-9:q4_0"}, 2, "llama-2-7b");
  expect_refusal({"bench", "--synthetic", "llama-2-7b"}, 2, "NAME:TYPE");
  expect_refusal({"bench", "--synthetic", "llama-2-7b:q3"}, 2, "q4_0");
}

TEST_F(CliBench, BadInput) {
  expect_refusal({"bench", model(), "--draft", "asd"}, 2, "--prompts");
  expect_refusal(bench({"--rows", "4"}), 2, "--rows");
  expect_refusal({"bench", model(), "--prompts", folder_.file("nothing.jsonl")}, 2, "nothing.jsonl");
  expect_refusal({"bench", model(), "--prompts", write("empty.jsonl", "")}, 2, "no prompt");
  expect_refusal({"bench", model(), "--prompts", write("bad.jsonl", "\"a\"\n{}\n")}, 2, "bad.jsonl, line 2");
  expect_refusal({"bench", model(), "--prompts", write("bytes.txt", "caf\xC3( is not UTF-8")}, 2, "bytes.txt");
  expect_refusal(bench({"--draft", "psychic"}), 2, "psychic");
  expect_refusal(bench({"--draft", "asd:banana=1"}), 2, "banana");
  expect_refusal(bench({"--draft", "k=6"}), 2, "k=6");
  expect_refusal(bench({"--format", "xml"}), 2, "xml");
  for (const char* tokens : {"0", "1", "-1"}) {
    expect_refusal({"bench", model(), "--prompts", folder_.file("two.jsonl"), "-n", tokens}, 2, std::string("-n ") + tokens);
  }
  expect_refusal(bench({"--repeat", "0"}), 2, "--repeat 0");
  expect_refusal(bench({"--limit", "-3"}), 2, "--limit");
  expect_refusal(bench({"--temp", "-1"}), 2, "temperature");
  expect_refusal(bench({"-m", model(), "--save-tokens", folder_.file("t.jsonl")}), 2, "--save-tokens");
  expect_refusal(bench({"-o", folder_.path().string()}), 1, "not a regular file");
  expect_refusal(bench({"-o", folder_.file("no/such/folder.md")}), 1, "folder.md");
  expect_refusal({"bench", folder_.file("missing.gguf"), "--prompts", folder_.file("two.jsonl")}, 3, "missing.gguf");
  expect_refusal(bench({"--device", "no such device"}), 4, "no such device");
  expect_no_remains();
}

}  // namespace
}  // namespace skipstone::e2e
