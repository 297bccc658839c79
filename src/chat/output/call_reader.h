// Reads one call, or one list of calls, out of an answer that is still being written.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "chat/output/arguments.h"
#include "chat/output/json_scanner.h"
#include "chat/output/output_format.h"
#include "chat/output/python_call.h"
#include "chat/output/tool.h"

namespace skipstone::chat {

struct CallOptions {
  bool wanted = true;                           ///< false: text that looks like a call stays text
  std::optional<std::vector<Tool>> tools = {};  ///< of the request: other names make no calls; nothing: any name does
  bool stream_arguments = false;                ///< give JSON arguments as they arrive, before it is known whether they end well
};

/// The kind of mark that a call may begin with.
enum class CallStart { section, call, bare, header };

class CallReader {
 public:
  enum class Kind {
    more,       ///< more text is needed
    text,       ///< the next `bytes` are text
    marker,     ///< the next `bytes` are the format's
    call,       ///< the next `bytes` are `call`
    begin,      ///< name and id of a call that is still being written
    arguments,  ///< a chunk of its arguments
    end,        ///< the next `bytes` are that call
    broken,     ///< the next `bytes` were to be that call, and are none
    reasoning,  ///< the next `bytes` are the header of a message that is reasoning
    content,    ///< and of one that is text
    done        ///< the reader is not needed any more
  };
  struct Step {
    Kind kind = Kind::more;
    std::size_t bytes = 0;         ///< consumed
    std::size_t from = 0, to = 0;  ///< of the text that the reader was given: the event's part
    Call call = {};
    std::string note = {};
  };

  /// The mark is the first `marker_bytes` of next()'s text.
  CallReader(const OutputFormat& format, const CallOptions& options, CallStart start, std::size_t marker_bytes);

  /// `text`: the bytes not consumed yet, from the mark on; `ended`: no more comes.
  Step next(std::string_view text, bool ended);

  /// All unconsumed bytes become text.
  Step give_up(const char* note);

  /// Whether there was a call, so that its closing marker may follow.
  bool found_call() const { return found_call_; }

 private:
  enum class State {
    call_open,
    name,
    name_close,
    header,
    arguments_open,
    arguments,
    parameters,
    key,
    value_open,
    value,
    list,
    element,
    scan,
    after_element,
    list_end,
    found,
    finished
  };
  using Next = std::optional<Step>;  ///< nothing: the state has changed

  Next run();
  Next read_call_open();
  Next read_name();
  Next read_header();
  Next read_arguments_open();
  Next read_arguments();
  Next read_parameters();
  Next read_key();
  Next read_value_open();
  Next read_value();
  Next read_list();
  Next read_element();
  Next scan();
  Next read_after_element();
  Next read_after_listed();
  Next read_list_end();
  Next give_found();

  Next more();
  Next literal(std::string_view mark, State then);
  Next go(State then);
  Next refused_at(std::size_t at, const std::string& note);
  Next refused() { return refused_at(at_, "no call as the format has it"); }
  void read_call();
  Next stream(const JsonScanner& scanner);
  Step begin_streaming(std::string name, std::string id, std::size_t arguments);
  Next deliver();
  bool skip_blanks();
  bool can_be_call(std::string_view name) const;
  const Tool* tool(std::string_view name) const;
  std::size_t name_bytes(std::size_t from) const;
  std::string_view rest() const { return text_.substr(at_); }
  Step used(Kind kind, std::size_t bytes);

  const OutputFormat& format_;
  const CallOptions& options_;
  const bool bare_;
  State state_;
  std::string_view text_ = {};
  bool ended_ = false;
  std::size_t at_;           ///< where reading continues
  std::size_t element_ = 0;  ///< where the element, value or arguments begin,
  std::size_t read_to_ = 0;  ///< and where an element or a call ends
  std::size_t given_ = 0;    ///< end of the text that emitted events cover
  bool listed_ = false, found_call_ = false, given_text_ = false;
  bool streaming_ = false;
  std::size_t streamed_ = 0;  ///< start of the arguments in the text; while streaming
  std::variant<JsonScanner, PythonScanner> scanner_;
  std::optional<Call> call_;  ///< read last
  std::string note_;          ///< why it is none
  std::string name_, id_, key_;
  ObjectWriter parameters_;
  std::vector<std::pair<std::size_t, Call>> found_;  ///< of a bare answer, and where they end: calls only when all has ended well
  std::size_t next_found_ = 0, found_used_ = 0;
};

}  // namespace skipstone::chat
