#include "text/chat_templates.h"

#include "gguf/gguf.h"

namespace skipstone::text {

std::vector<ChatTemplate> chat_templates(const gguf::File& file) {
  std::vector<ChatTemplate> all;
  const auto add = [&](const std::string& key, const std::string& name) {
    const gguf::Value* value = file.find(key);
    const auto* source = value == nullptr ? nullptr : std::get_if<std::string>(value);
    if (source != nullptr && !source->empty()) all.push_back({name, *source});
  };
  add("tokenizer.chat_template", "");
  if (const std::vector<std::string>* names = file.strings("tokenizer.chat_templates")) {
    for (const std::string& name : *names) {
      if (!name.empty()) add("tokenizer.chat_template." + name, name);
    }
  }
  return all;
}

}  // namespace skipstone::text
