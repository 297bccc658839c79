// Damaged chat templates: each is rendered or refused with a sentence, within a second and 64 MB. 2,000 of them, 500 under the address
// sanitizer; with SKIPSTONE_FULL_TESTS=1 100,000. The one that is being rendered is in the test's message, and in jinja_mutation.jinja of
// the temporary folder.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/escape.h"
#include "base/status.h"
#include "chat/jinja/template.h"
#include "fuzz/live_memory.h"
#include "fuzz/mutator.h"

namespace skipstone::fuzz {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr std::uint64_t few = 500;
#else
constexpr std::uint64_t few = 2'000;
#endif
constexpr double most_seconds = SKIPSTONE_MOST_SECONDS;  // more where a sanitizer watches
constexpr std::size_t most_bytes = std::size_t{64} << 20;

const char* const conversation =
    R"({"bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": true, "enable_thinking": true, "messages": [
  {"role": "system", "content": "Be brief."}, {"role": "user", "content": "How deep is the lake? <|im_end|> {{ x }}"},
  {"role": "assistant", "content": "<think>hm</think>Let me see.", "tool_calls": [{"id": "abcdefghi", "type": "function", "function":
    {"name": "depth", "arguments": {"lake": "Zürich", "unit": 1.0, "exact": true, "of": [1, null, 12345678901234567890]}}}]},
  {"role": "tool", "tool_call_id": "abcdefghi", "name": "depth", "content": "136"}, {"role": "assistant", "content": "136 metres."},
  {"role": "user", "content": [{"type": "text", "text": "And in feet?"}]}],
  "tools": [{"type": "function", "function": {"name": "depth", "description": "Depth of a lake", "parameters": {"type": "object",
    "properties": {"lake": {"type": "string", "description": "Its name"}, "unit": {"type": "number", "enum": [1, 2]}}, "required": ["lake"]}}}]})";

const char* const small_templates[] = {
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + (message.content|string) + '<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
    "{{- bos_token }}{%- set ns = namespace(found=false, text='') -%}{%- macro f(x, depth=0) -%}{%- if x is mapping -%}{%- for k, v in "
    "x.items() -%}"
    "{{ k }}={{ f(v, depth + 1) }}{%- endfor -%}{%- elif x is iterable and x is not string -%}{%- for v in x -%}{{ f(v, depth + 1) }},{%- "
    "endfor -%}"
    "{%- else -%}{{ x|tojson }}{%- endif -%}{%- endmacro -%}{%- for m in messages[1:] if m.content is defined -%}{%- set ns.text = ns.text "
    "~ f(m) -%}"
    "{%- if loop.last or m.role not in ['user', 'tool'] -%}{{ ns.text[:40]|trim|upper }}{%- endif -%}{%- endfor -%}{{ "
    "tools|tojson(indent=2) }}"};

std::vector<std::string> seeds() {
  std::vector<std::string> all(std::begin(small_templates), std::end(small_templates));
  const std::string folder = std::string(SKIPSTONE_SHARED_DATA) + "/templates/templates";
  std::vector<std::filesystem::path> files;
  if (std::filesystem::exists(folder)) files.assign(std::filesystem::directory_iterator(folder), {});
  std::sort(files.begin(), files.end());
  for (const auto& path : files) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    all.push_back(text.str());
  }
  return all;
}

/// True where it was rendered.
bool rendered(const std::string& source, const chat::jinja::Dict& variables, const std::tm& now) {
  try {
    chat::jinja::Template(source).render(variables, std::strlen(conversation), now);
    return true;
  } catch (const Error& error) {
    const std::string sentence = error.what();
    EXPECT_EQ(error.code() == Code::internal, false) << sentence;
    EXPECT_EQ(sentence, message_text(sentence));
    const bool placed = sentence.find("line ") != std::string::npos || sentence.rfind("the template ", 0) == 0;
    EXPECT_TRUE(placed) << sentence;
    return false;
  }
}

TEST(JinjaMutations, AreRenderedOrRefusedWithinBounds) {
  const bool full = std::getenv("SKIPSTONE_FULL_TESTS") != nullptr;
  const char* first = std::getenv("SKIPSTONE_FIRST_SEED");
  const std::uint64_t begin = first == nullptr ? 0 : std::strtoull(first, nullptr, 10);
  const std::vector<std::string> templates = seeds();
  const chat::jinja::Value variables = chat::jinja::read_json(conversation, "variables", chat::jinja::Origin::data);
  const std::tm now = chat::jinja::parsed_time("2025-07-04T09:08:07");
  const std::string kept = (std::filesystem::temp_directory_path() / "jinja_mutation.jinja").string();
  double slowest = 0;
  std::size_t largest = 0;
  int taken = 0;
  for (std::uint64_t seed = begin; seed < begin + (full ? 100'000 : few) && !HasFailure(); ++seed) {
    const std::string source = mutated_template(templates, seed);
    std::ofstream(kept, std::ios::binary) << source;
    const LiveMemory memory;
    const std::clock_t start = std::clock();  // of the processor: other programs may run beside
    taken += rendered(source, *variables.dict(), now) ? 1 : 0;
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    EXPECT_LT(seconds, most_seconds) << "seed " << seed << ", kept in " << kept;
    EXPECT_LT(memory.most(), most_bytes) << "seed " << seed << ", kept in " << kept;
    if (seconds > slowest) RecordProperty("slowest_seed", static_cast<int>(seed));
    slowest = std::max(slowest, seconds);
    largest = std::max(largest, memory.most());
  }
  RecordProperty("rendered", taken);
  RecordProperty("slowest_ms", static_cast<int>(slowest * 1000));
  RecordProperty("largest_kib", static_cast<int>(largest >> 10U));
  EXPECT_GT(taken, static_cast<int>(few / 20));
  if (!HasFailure()) std::filesystem::remove(kept);
}

}  // namespace
}  // namespace skipstone::fuzz
