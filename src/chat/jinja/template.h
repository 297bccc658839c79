// A chat template: compiled once, rendered with variables. The part of Jinja that chat templates use, as transformers'
// apply_chat_template() runs it (jinja2's ImmutableSandboxedEnvironment with trim_blocks, lstrip_blocks and loop controls).
#pragma once

#include <ctime>
#include <memory>
#include <string>
#include <string_view>

#include "chat/jinja/value.h"

namespace skipstone::chat::jinja {

struct Program;

/// Immutable; safe to use from many threads.
class Template {
 public:
  /// Throws invalid_argument with line and column for an invalid template.
  explicit Template(std::string_view source);
  ~Template();
  Template(Template&&) noexcept;
  Template& operator=(Template&&) noexcept;

  /// `variables`: all that the template sees; of about `variables_bytes` bytes, for larger ones may take more steps. `now`: the time for
  /// strftime_now(). Throws invalid_argument with line and column where the template raises, uses an undefined value, or passes a limit
  /// (guard.h).
  Text render(const Dict& variables, std::size_t variables_bytes, const std::tm& now) const;

 private:
  std::unique_ptr<const Program> program_;
};

/// The clock's local time.
std::tm local_time();
/// "2025-07-04T09:08:07". Throws invalid_argument for any other form.
std::tm parsed_time(std::string_view text);

/// A rendering that ends where the content of the last message ends, so that a model continues it (continue_final_message of
/// transformers' apply_chat_template()). As Template::render(). Throws invalid_argument, too, where the last of the variable `messages` has
/// no text or the template does not write it.
Text render_continued(const Template& chat_template, const Dict& variables, std::size_t variables_bytes, const std::tm& now);

/// JSON as a value: objects keep their order, 1 and 1.0 stay two things, integers have as many digits as they have. `what` begins the
/// error messages. Of a repeated key the last value counts, as with Python's json. Throws invalid_argument for text that
/// is not JSON, not UTF-8, or nests too deep.
Value read_json(std::string_view text, const std::string& what, Origin origin);

}  // namespace skipstone::chat::jinja
