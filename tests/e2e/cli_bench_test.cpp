// skipstone bench --prompts: what it measures is checked against `skipstone run`, what it writes is read back.
#include "cli_bench.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace skipstone::e2e {
namespace {

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

  EXPECT_EQ(json::parse(run(bench({"--json"})).out)[0]["drafters"].size(), 2u);
  EXPECT_EQ(run(bench({"--json", "--format", "csv"})).code, 2);
  const Result markdown = run(bench({}));
  ASSERT_EQ(markdown.code, 0) << markdown.error;
  for (const char* part : {"- device: ", "speed-up", "identical", "tokens/round", "Acceptance by draft position", "2 used"}) {
    EXPECT_TRUE(contains(markdown.out, part)) << part << "\n" << markdown.out;
  }
}

TEST_F(CliBench, SavedTokensAreThoseOfRun) {
  const Arguments sampling = {"--temp", "0.9", "--top-k", "0", "--top-p", "1", "--min-p", "0", "--seed", "7"};
  Arguments arguments = bench({"--save-tokens", folder_.file("tokens.jsonl"), "-o", folder_.file("result.md")});
  arguments.insert(arguments.end(), sampling.begin(), sampling.end());
  const Result result = run(arguments);
  ASSERT_EQ(result.code, 0) << result.error;
  EXPECT_TRUE(contains(result.out, "temperature 0.9")) << result.out;
  EXPECT_EQ(fixtures::bytes_of(folder_.file("result.md")), result.out);
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

TEST_F(CliBench, AllLeavesOutWhatTheModelLacks) {
  const Result all = run(bench({"--draft", "all", "--json", "--limit", "1"}));
  ASSERT_EQ(all.code, 0) << all.error;
  std::map<std::string, bool> left_out;
  const json result = json::parse(all.out)[0];
  for (const json& drafter : result["drafters"]) left_out[drafter["drafter"]] = drafter["left_out"];
  EXPECT_TRUE(left_out.at("experts") && left_out.at("mtp")) << all.out;
  EXPECT_FALSE(left_out.at("suffix") || left_out.at("auto")) << all.out;
  const Result refused = run(bench({"--draft", "suffix,mtp"}));
  EXPECT_EQ(refused.code, 2) << refused.error;
  EXPECT_TRUE(contains(refused.error, "--draft-optional leaves mtp out and measures the others")) << refused.error;
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
  Command command{{"bench", model(), "--prompts", write("many.jsonl", prompts), "-n", "64", "--format", "json"}};
  command.interrupt_at_error = "fastest so far";
  const Result result = run(command);
  EXPECT_EQ(result.code, 130) << "signal " << result.signal << result.error;
  EXPECT_TRUE(contains(result.error, "interrupted")) << result.error;
  const json sweep = json::parse(result.out)[0];
  EXPECT_EQ(sweep["interrupted"], true);
  EXPECT_GT(sweep["prompts_used"], 0);
  EXPECT_LT(sweep["prompts_used"], 2000);
  EXPECT_EQ(sweep["drafters"][1]["prompts"], sweep["prompts_used"]);
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
  // What chooses says what it chose.
  for (const json& run : sweep["runs"]) {
    if (run["drafter"] == "auto") {
      EXPECT_TRUE(contains(run["chosen"], "off: ")) << run;
    } else if (run["drafter"] == "none") {
      EXPECT_TRUE(run["chosen"].is_null()) << run;
    }
  }
  EXPECT_TRUE(contains(fixtures::bytes_of(folder_.file("tasks.svg")), ">translation<"));
}

TEST_F(CliBench, BadInput) {
  expect_refusal({"bench", model(), "--draft", "asd", "-p", "8"}, 2, "--prompts");
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

// What most ask of it: whether drafts pay on this machine, for this model.
TEST_F(CliBench, ComparesAutoWithPlainDecodingWhereNothingElseIsAsked) {
  const Result result = run({"bench", "--limit", "1"});
  ASSERT_EQ(result.code, 0) << result.error;
  EXPECT_TRUE(contains(result.out, "| auto ")) << result.out;
  EXPECT_TRUE(contains(result.out, "| none ")) << result.out;
  EXPECT_TRUE(contains(result.out, "code_editing.jsonl, 1 used")) << result.out;
  for (const std::string& line : lines_of(result.out)) {
    EXPECT_TRUE(!line.starts_with("|") || line.size() <= 100u) << line;
  }
  const json named = json::parse(run({"bench", "--limit", "1", "--draft", "suffix", "--json"}).out)[0];
  ASSERT_EQ(named["drafters"].size(), 2u);
  EXPECT_EQ(named["drafters"][1]["drafter"], "suffix");
  EXPECT_TRUE(named["drafters"][1]["identical"].get<bool>());
}

}  // namespace
}  // namespace skipstone::e2e
