// The chat templates that a model file carries.
#pragma once

#include <string>
#include <vector>

namespace skipstone::gguf {
class File;
}

namespace skipstone::text {

struct ChatTemplate {
  std::string name;    ///< "" for the usual one
  std::string source;  ///< Jinja
};

/// tokenizer.chat_template and the named ones: tokenizer.chat_templates lists the names, tokenizer.chat_template.NAME holds each.
std::vector<ChatTemplate> chat_templates(const gguf::File& file);

}  // namespace skipstone::text
