#include <algorithm>

#include "chat/chat_template.h"

namespace skipstone::chat {
namespace {

// ChatML: OpenAI's chat markup language. Calls and results as Hermes 2 Pro and Qwen 2.5 write them.
constexpr const char* chatml = R"({%- macro head(role) %}{{ '<|im_start|>' + role + '\n' }}{% endmacro %}
{%- if tools %}
  {{- head('system') }}
  {%- if messages[0].role == 'system' %}{{ messages[0].content + '\n\n' }}{% endif %}
  {{- 'You may call one or more of these functions:\n<tools>\n' }}
  {%- for tool in tools %}{{ tool|tojson + '\n' }}{% endfor %}
  {{- '</tools>\nTo call one, write a JSON object with its name and its arguments:\n<tool_call>\n{"name": NAME, "arguments": {...}}\n</tool_call>' }}
  {{- '<|im_end|>\n' }}
{%- endif %}
{%- set rest = messages[1:] if tools and messages[0].role == 'system' else messages %}
{%- for message in rest %}
  {%- if message.role == 'tool' %}
    {{- head('user') + '<tool_response>\n' + message.content + '\n</tool_response><|im_end|>\n' }}
  {%- else %}
    {{- head(message.role) }}
    {%- if message.content %}{{ message.content }}{% endif %}
    {%- for call in message.tool_calls or [] %}
      {{- '\n' if message.content or not loop.first }}
      {{- '<tool_call>\n{"name": ' + call.function.name|tojson + ', "arguments": ' + call.function.arguments|tojson + '}\n</tool_call>' }}
    {%- endfor %}
    {{- '<|im_end|>\n' }}
  {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ head('assistant') }}{% endif %})";

// Llama 3: Meta's model card, "Prompt Formats".
constexpr const char* llama3 = R"({{- bos_token }}
{%- for message in messages %}
  {{- '<|start_header_id|>' + message.role + '<|end_header_id|>\n\n' + message.content|trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %})";

// Gemma: Google's "Gemma formatting and system instructions". System messages go into the first user turn.
constexpr const char* gemma = R"({{- bos_token }}
{%- for message in messages %}
  {%- if message.role not in ['user', 'assistant'] %}{{ raise_exception('This format has turns of users and assistants alone.') }}{% endif %}
  {{- '<start_of_turn>' + ('model' if message.role == 'assistant' else 'user') + '\n' + message.content|trim + '<end_of_turn>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %})";

// Mistral and Llama 2: turns in [INST], answers closed by EOS. Mistral has no place for a system message; Llama 2 marks it with <<SYS>>.
constexpr const char* mistral = R"({{- bos_token }}
{%- for message in messages %}
  {%- if message.role == 'user' %}{{ '[INST] ' + message.content|trim + ' [/INST]' }}
  {%- elif message.role == 'assistant' %}{{ ' ' + message.content|trim + eos_token }}
  {%- else %}{{ raise_exception('This format has turns of users and assistants alone.') }}
  {%- endif %}
{%- endfor %})";

constexpr const char* llama2 = R"({%- set ns = namespace(system='') %}
{%- for message in messages %}
  {%- if message.role == 'system' %}{% set ns.system = '<<SYS>>\n' + message.content|trim + '\n<</SYS>>\n\n' %}
  {%- elif message.role == 'user' %}{{ bos_token + '[INST] ' + ns.system + message.content|trim + ' [/INST]' }}{% set ns.system = '' %}
  {%- elif message.role == 'assistant' %}{{ ' ' + message.content|trim + ' ' + eos_token }}
  {%- else %}{{ raise_exception('This format has no turns of the role ' + message.role + '.') }}
  {%- endif %}
{%- endfor %})";

// Phi-3: Microsoft's model card, "Chat Format". Zephyr is of the same kind, with EOS for <|end|>.
constexpr const char* phi3 = R"({%- for message in messages %}
  {{- '<|' + message.role + '|>\n' + message.content|trim + '<|end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %})";

constexpr const char* zephyr = R"({%- for message in messages %}
  {{- '<|' + message.role + '|>\n' + message.content + eos_token + '\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %})";

// Granite 3: IBM's "Prompt Engineering Guide".
constexpr const char* granite = R"({%- for message in messages %}
  {{- '<|start_of_role|>' + message.role + '<|end_of_role|>' + message.content + '<|end_of_text|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|start_of_role|>assistant<|end_of_role|>' }}{% endif %})";

// Command R: Cohere's "Prompting Command R".
constexpr const char* command_r = R"({{- bos_token }}
{%- set names = {'system': 'SYSTEM', 'user': 'USER', 'assistant': 'CHATBOT'} %}
{%- for message in messages %}
  {%- if message.role not in names %}{{ raise_exception('This format has no turns of the role ' + message.role + '.') }}{% endif %}
  {{- '<|START_OF_TURN_TOKEN|><|' + names[message.role] + '_TOKEN|>' + message.content|trim + '<|END_OF_TURN_TOKEN|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>' }}{% endif %})";

// GLM-4: Zhipu's model card.
constexpr const char* glm4 = R"({{- '[gMASK]<sop>' }}
{%- for message in messages %}
  {{- '<|' + ('observation' if message.role == 'tool' else message.role) + '|>\n' + message.content }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %})";

// DeepSeek V2.5 to R1: full-width bars and U+2581.
constexpr const char* deepseek = R"({{- bos_token }}
{%- for message in messages %}
  {%- if message.role == 'system' %}{{ message.content }}
  {%- elif message.role == 'user' %}{{ '<｜User｜>' + message.content }}
  {%- elif message.role == 'assistant' %}{{ '<｜Assistant｜>' + message.content + '<｜end▁of▁sentence｜>' }}
  {%- else %}{{ raise_exception('This format has no turns of the role ' + message.role + '.') }}
  {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<｜Assistant｜>' }}{% endif %})";

// Vicuna 1.1 and Alpaca: plain words, as in their repositories' prompts.
constexpr const char* vicuna = R"({{- bos_token }}
{%- for message in messages %}
  {%- if message.role == 'system' %}{{ message.content + '\n\n' }}
  {%- elif message.role == 'user' %}{{ 'USER: ' + message.content + '\n' }}
  {%- elif message.role == 'assistant' %}{{ 'ASSISTANT: ' + message.content + eos_token + '\n' }}
  {%- else %}{{ raise_exception('This format has no turns of the role ' + message.role + '.') }}
  {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %})";

constexpr const char* alpaca = R"({{- bos_token }}
{%- for message in messages %}
  {%- if message.role == 'system' %}{{ message.content + '\n\n' }}
  {%- elif message.role == 'user' %}{{ '### Instruction:\n' + message.content + '\n\n' }}
  {%- elif message.role == 'assistant' %}{{ '### Response:\n' + message.content + eos_token + '\n\n' }}
  {%- else %}{{ raise_exception('This format has no turns of the role ' + message.role + '.') }}
  {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '### Response:\n' }}{% endif %})";

// For base models: a transcript to be continued.
constexpr const char* plain = R"({%- for message in messages %}
  {%- if message.role == 'system' %}{{ message.content + '\n\n' }}
  {%- elif message.role == 'assistant' %}{{ 'Assistant: ' + message.content + '\n' }}
  {%- else %}{{ ('Result: ' if message.role == 'tool' else 'User: ') + message.content + '\n' }}
  {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ 'Assistant:' }}{% endif %})";

}  // namespace

std::span<const BuiltinTemplate> builtin_templates() {
  static const std::vector<BuiltinTemplate> all = {
      {"llama3", llama3, {"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"}, {}},
      {"gemma", gemma, {"<start_of_turn>", "<end_of_turn>"}, {}},
      {"granite", granite, {"<|start_of_role|>", "<|end_of_role|>"}, {}},
      {"command-r", command_r, {"<|START_OF_TURN_TOKEN|>", "<|CHATBOT_TOKEN|>"}, {}},
      {"deepseek", deepseek, {"<｜User｜>", "<｜Assistant｜>"}, {}},
      {"glm4", glm4, {"[gMASK]", "<sop>", "<|observation|>"}, {}},
      {"chatml", chatml, {"<|im_start|>", "<|im_end|>"}, {}},
      {"phi3", phi3, {"<|user|>", "<|assistant|>", "<|end|>"}, {}},
      {"zephyr", zephyr, {"<|user|>", "<|assistant|>"}, {}},
      {"mistral", mistral, {"[INST]", "[/INST]"}, {}},
      {"llama2", llama2, {}, {}},
      {"vicuna", vicuna, {}, {"USER:"}},
      {"alpaca", alpaca, {}, {"### Instruction:"}},
      {"plain", plain, {}, {"\nUser:", "\nResult:"}},
  };
  return all;
}

const BuiltinTemplate* find_builtin(std::string_view name) {
  const auto all = builtin_templates();
  const auto found = std::find_if(all.begin(), all.end(), [&](const BuiltinTemplate& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace skipstone::chat
