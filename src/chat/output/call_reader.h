// Reads one call, or one list of calls, out of an answer that is still being written. A reader for each family of formats: calls of a name
// and arguments, and JSON objects or Python calls.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "chat/output/call.h"
#include "chat/output/json_scanner.h"
#include "chat/output/output_format.h"

namespace skipstone::chat {

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

  /// The reader for `format`, which has calls. The mark is the first `marker_bytes` of next()'s text. Both references must outlive it.
  static std::unique_ptr<CallReader> make(const OutputFormat& format, const CallOptions& options, CallStart start,
                                          std::size_t marker_bytes);

  virtual ~CallReader() = default;
  CallReader(const CallReader&) = delete;
  CallReader& operator=(const CallReader&) = delete;

  /// `text`: the bytes not consumed yet, from the mark on; `ended`: no more comes.
  Step next(std::string_view text, bool ended);

  /// All unconsumed bytes become text.
  Step give_up(const char* note);

  /// Whether there was a call, so that its closing marker may follow.
  bool found_call() const { return found_call_; }

 protected:
  using Next = std::optional<Step>;  ///< nothing: the state has changed

  /// `streams`: whether arguments may be given while they arrive.
  CallReader(const OutputFormat& format, const CallOptions& options, std::size_t marker_bytes, bool streams);

  /// One step of the state machine.
  virtual Next run() = 0;
  /// Reads the call from `text`, the element that was scanned.
  virtual void read_call(std::string_view text) = 0;
  /// Begins to stream the element that is being scanned, if its name and the start of its arguments are known.
  virtual Next begin_streaming(const JsonScanner& scanner) = 0;
  /// The end of the arguments that are being streamed, as an offset into the element.
  virtual std::size_t streamable_end(const JsonScanner& scanner) const = 0;

  Next more();
  /// Nothing where `mark` was read.
  Next literal(std::string_view mark);
  Next refused_at(std::size_t at, const std::string& note);
  Next refused() { return refused_at(at_, "no call as the format has it"); }
  /// Scans the element; nothing where it is complete and read.
  Next scan();
  Step begin_arguments(std::string name, std::string id, std::size_t arguments);
  /// Whether the element that was read is a call that the request allows; else it leaves a note why not.
  bool accepts();
  /// The element that was read, up to `read_to_`.
  Step deliver();
  /// Whether a damaged call may be repaired. One that is given while it arrives may not: its first part would not fit.
  bool repairs() const { return !streams_; }
  bool skip_blanks();
  std::string_view rest() const { return text_.substr(at_); }
  Step used(Kind kind, std::size_t bytes);

  const OutputFormat& format_;
  const CallOptions& options_;
  std::string_view text_ = {};
  bool ended_ = false;
  bool finished_ = false;
  std::size_t at_;           ///< where reading continues
  std::size_t element_ = 0;  ///< where the element, value or arguments begin,
  std::size_t read_to_ = 0;  ///< and where an element or a call ends
  bool found_call_ = false, given_text_ = false;
  std::variant<JsonScanner, PythonScanner> scanner_;
  std::optional<Call> call_;  ///< read last
  std::string note_;          ///< why it is none

 private:
  Next stream(const JsonScanner& scanner);

  const bool streams_;
  bool streaming_ = false;
  std::size_t given_ = 0;  ///< end of the text that emitted events cover
};

/// `start`: section, call or header.
std::unique_ptr<CallReader> make_named_call_reader(const OutputFormat& format, const CallOptions& options, CallStart start,
                                                   std::size_t marker_bytes);
/// `bare`: a whole answer that is calls and nothing else.
std::unique_ptr<CallReader> make_listed_call_reader(const OutputFormat& format, const CallOptions& options, bool bare,
                                                    std::size_t marker_bytes);

}  // namespace skipstone::chat
