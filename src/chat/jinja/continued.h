// A rendering that ends where the content of the last message ends, so that a model continues it (continue_final_message of
// transformers' apply_chat_template()).
#pragma once

#include "chat/jinja/template.h"

namespace skipstone::chat::jinja {

/// As Template::render(). Throws invalid_argument, too, where the last of the variable `messages` has no text or the template does not
/// write it.
Text render_continued(const Template& chat_template, const Dict& variables, std::size_t variables_bytes, const std::tm& now);

}  // namespace skipstone::chat::jinja
