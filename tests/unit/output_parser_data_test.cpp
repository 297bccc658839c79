// The parser of answers on examples of 20 families, where a checkout has them beside it: at every cut in two, byte by byte, in random
// pieces, damaged.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "json/json.h"
#include "output_parser_fixture.h"

namespace skipstone::chat {
namespace {


const std::string folder = SKIPSTONE_SHARED_DATA "/templates/";

struct Example {
  std::string family, title, prompt, raw;
  SortedJson expected;
};

std::vector<Example> examples() {
  std::vector<Example> all;
  std::ifstream file(folder + "toolcalls.jsonl");
  for (std::string line; std::getline(file, line);) {
    const SortedJson entry = SortedJson::parse(line);
    all.push_back({entry["family"], entry["title"], entry["prompt_end"], entry["raw"], entry});
  }
  return all;
}

/// Rows by the families' names in the data: by their template where they have one.
const OutputFormat& format_of(const std::string& family) {
  static const std::map<std::string, std::string> templates = {
      {"Hermes / Qwen2.5 / Qwen3 (JSON in <tool_call>)", "hermes-2-pro-tool-use qwen2.5-7b-instruct qwen3-0.6b"},
      {"Qwen3-Coder / Qwen3.5 (XML-like parameters)", "qwen3-coder qwen3.5-4b"},
      {"Llama 3.1 / 3.2 / 3.3", "llama-3.1-8b-instruct llama-3.2-3b-instruct llama-3.2-11b-vision"},
      {"Mistral v1-v3, Nemo, Large (JSON list)", "mistral-7b-v0.3-tools mistral-large-2407-v3 mistral-nemo-2407"},
      {"Mistral Small 3.2 / Ministral 3 (v11, v13)", "mistral-small-3.2-2506 ministral-3-14b-reasoning-2512"},
      {"gpt-oss (harmony)", "gpt-oss-120b"},
      {"DeepSeek R1 and its distills", "deepseek-r1 deepseek-r1-distill-llama-8b deepseek-r1-llamacpp"},
      {"DeepSeek V3.1", "deepseek-v3.1"},
      {"Granite 3.x", "granite-3.0-8b granite-3.3-2b"},
      {"Phi-4-mini", "phi-4-mini-llamacpp"},
      {"SmolLM3", "smollm3-3b"},
      {"Functionary 3.1", "functionary-v3.1"},
      {"Command R7B", "command-r7b-tool-use"},
      {"GLM-4.5 / 4.6", "glm-4.6"},
      {"Kimi K2", "kimi-k2-instruct"},
      {"LFM2", "lfm2-llamacpp"},
      {"Nemotron Nano v2", "nemotron-nano-v2"},
      {"MiniMax M2", "minimax-m2"},
      {"Firefunction v1", "firefunction-v1"},
      {"No tool calls in the template",
       "llama-2 llama-3 gemma-3 phi-3-mini zephyr-7b-beta vicuna-13b-1.1 qwen2.5-vl-7b mistral-7b-v0.1 command-r-v01"}};
  const OutputFormat* format = nullptr;
  std::istringstream names(templates.at(family));
  for (std::string name; names >> name;) {
    std::ifstream file(folder + "templates/" + name + ".jinja");
    std::stringstream text;
    text << file.rdbuf();
    const OutputFormat& found = detect_output_format(text.str());
    EXPECT_EQ(found.name, format == nullptr ? found.name : format->name) << name;
    format = &found;
  }
  return *format;
}

SortedJson calls_of(const Message& message) {
  SortedJson calls = SortedJson::array();
  for (const ToolCall& call : message.calls) {
    EXPECT_FALSE(call.id.empty());
    calls.push_back({{"name", call.name}, {"arguments", SortedJson::parse(call.arguments)}});
  }
  return calls;
}

void expect_as_said(const Example& example, const Message& message) {
  const auto text = [](const SortedJson& value) { return value.is_null() ? std::string() : value.get<std::string>(); };
  EXPECT_EQ(message.content, text(example.expected["content"]));
  EXPECT_EQ(message.reasoning, text(example.expected["reasoning_content"]));
  EXPECT_EQ(calls_of(message), example.expected["tool_calls"]);
}

class OutputParserData : public testing::Test {
 protected:
  void SetUp() override {
    if (all.empty()) GTEST_SKIP() << "no examples in " << folder;
  }
  const std::vector<Example> all = examples();
};

TEST_F(OutputParserData, EveryExampleAtEveryCut) {
  for (const Example& example : all) {
    SCOPED_TRACE(example.family + ": " + example.title);
    const OutputFormat& format = format_of(example.family);
    for (const bool streamed : {false, true}) {
      const OutputOptions options{.prompt = example.prompt, .calls = {.tools = test_tools(), .stream_arguments = streamed}};
      expect_as_said(example, parse(format, options, example.raw).message);
      expect_as_said(example, parse(format, options, example.raw, every_byte(example.raw)).message);
      for (std::size_t cut = 0; cut <= example.raw.size(); ++cut) {
        expect_as_said(example, parse(format, options, example.raw, {cut}).message);
        if (HasFailure()) return;
      }
    }
  }
}

/// Damage: bytes changed, left out, put in, pieces of other examples put in. In every row, whatever comes out does not depend on the cuts
/// and its raw texts are the answer.
TEST_F(OutputParserData, DamagedAnswersKeepEveryByte) {
  std::mt19937 random(20);
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  for (int round = 0; round < 4000; ++round) {
    const Example& example = all[below(all.size())];
    std::string answer = example.raw;
    for (std::size_t times = below(5); times > 0; --times) {
      const std::size_t at = below(answer.size() + 1);
      switch (below(4)) {
        case 0:
          if (at < answer.size()) answer[at] = static_cast<char>(below(256));
          break;
        case 1:
          answer.erase(at, 1 + below(4));
          break;
        case 2:
          answer.insert(at, 1, "<>{}[]\"\\|\n ,:"[below(13)]);
          break;
        default: {
          const std::string& other = all[below(all.size())].raw;
          const std::size_t from = below(other.size());
          answer.insert(at, other.substr(from, 1 + below(40)));
        }
      }
    }
    const OutputFormat& format = below(3) == 0 ? output_formats()[below(output_formats().size())] : format_of(example.family);
    OutputOptions options{.prompt = example.prompt, .longest_call = below(4) == 0 ? 256u : 1u << 20};
    options.calls.stream_arguments = below(2) == 0;
    if (below(4) != 0) options.calls.tools = test_tools();
    const std::string whole = described(parse(format, options, answer).message);
    std::vector<std::size_t> cuts(below(8));
    for (std::size_t& cut : cuts) cut = below(answer.size() + 1);
    std::ranges::sort(cuts);
    EXPECT_EQ(described(parse(format, options, answer, cuts).message), whole)
        << format.name << ": " << SortedJson(answer).dump(-1, ' ', false, SortedJson::error_handler_t::replace);
    EXPECT_EQ(described(parse(format, options, answer, every_byte(answer)).message), whole)
        << format.name << ": " << SortedJson(answer).dump(-1, ' ', false, SortedJson::error_handler_t::replace);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace skipstone::chat
