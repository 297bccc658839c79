// The line editor: libedit, with its own reading of keys for signals and pasted text.
#include <fcntl.h>
#include <fmt/format.h>
#include <histedit.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <string_view>

#include "base/platform/files.h"
#include "chat/line_input.h"
#include "chat/terminal_text.h"
#include "terminal/interrupt.h"
#include "terminal/output.h"

namespace cli::chat {
namespace {

constexpr int kept_messages = 1000;
constexpr off_t largest_history = 16 << 20;          // bytes; the largest file that is read
constexpr std::size_t longest_paste = 4 << 20;       // bytes
constexpr std::string_view paste_end = "\033[201~";  // bracketed paste, as xterm's control sequences have it

/// Keys are UTF-8 characters, regardless of the locale.
void use_utf8() {
  if (std::setlocale(LC_CTYPE, "") != nullptr && std::strstr(std::setlocale(LC_CTYPE, nullptr), "UTF-8") != nullptr) return;
  if (std::setlocale(LC_CTYPE, "C.UTF-8") == nullptr) std::setlocale(LC_CTYPE, "en_US.UTF-8");
}

class LineEditor : public LineInput {
 public:
  explicit LineEditor(const std::string& history_file) : file_(history_file) {
    use_utf8();
    history_ = history_init();
    HistEvent event;
    history(history_, &event, H_SETSIZE, kept_messages);
    history(history_, &event, H_SETUNIQUE, 1);
    load_history();
    editor_ = el_init("skipstone", stdin, stdout, stderr);
    el_set(editor_, EL_CLIENTDATA, this);
    el_set(editor_, EL_PROMPT, show_prompt);
    el_set(editor_, EL_EDITOR, "emacs");
    el_set(editor_, EL_SIGNAL, 0);
    el_set(editor_, EL_HIST, history, history_);
    el_set(editor_, EL_GETCFN, read_key);
    el_set(editor_, EL_ADDFN, "skipstone-paste", "Text that is pasted", read_paste);
    el_source(editor_, nullptr);
    el_set(editor_, EL_BIND, "\033[200~", "skipstone-paste", nullptr);
  }

  ~LineEditor() override {
    el_end(editor_);
    history_end(history_);
  }

  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  Line read(const std::string& prompt) override {
    prompt_ = prompt;
    if (interrupt::take_resized()) el_resize(editor_);
    el_set(editor_, EL_PREP_TERM, 1);  // before the prompt is shown, so that no key gets to the terminal's own line editing
    write_sequence("\033[?2004h");
    int bytes = 0;
    const char* const line = el_gets(editor_, &bytes);
    write_sequence("\033[?2004l");
    if (interrupt::terminated()) return {};
    if (line == nullptr && interrupt::take()) {
      write_sequence("\n");
      return {.kind = Line::Kind::interrupt, .was_empty = was_empty_};
    }
    if (line == nullptr || bytes <= 0) {
      write_sequence("\n");
      return {};
    }
    std::string text(line, static_cast<std::size_t>(bytes));
    if (text.ends_with('\n')) text.pop_back();
    return {.kind = Line::Kind::text, .text = std::move(text)};
  }

  void remember(const std::string& message) override {
    HistEvent event;
    history(history_, &event, H_ENTER, message.c_str());
    save_history();
  }

 private:
  static LineEditor& self(EditLine* editor) {
    void* data = nullptr;
    el_get(editor, EL_CLIENTDATA, &data);
    return *static_cast<LineEditor*>(data);
  }

  static char* show_prompt(EditLine* editor) { return self(editor).prompt_.data(); }

  static int read_key(EditLine* editor, wchar_t* key) { return self(editor).next_key(editor, *key); }

  static unsigned char read_paste(EditLine* editor, int) {
    std::string pasted;
    for (char byte = 0; pasted.size() < longest_paste && !pasted.ends_with(paste_end) && self(editor).next_byte(editor, byte) == 1;)
      pasted += byte;
    if (pasted.ends_with(paste_end)) pasted.resize(pasted.size() - paste_end.size());
    const std::string text = pasted_text(pasted);
    if (!text.empty() && el_insertstr(editor, text.c_str()) != 0) return CC_ERROR;
    return CC_REFRESH;
  }

  /// Returns 1, 0 at the end of the input, -1 if a signal ended the line.
  int next_byte(EditLine* editor, char& byte) {
    while (!interrupt::wait_for_input()) {
      if (interrupt::take_resized()) {
        write_sequence("\r\033[J");  // redraws the line from its start
        el_resize(editor);
        el_set(editor, EL_REFRESH);
      }
      if (!interrupt::requested() && !interrupt::terminated()) continue;
      const LineInfo* const line = el_line(editor);
      was_empty_ = line->lastchar == line->buffer;
      errno = EINTR;
      return -1;
    }
    const ssize_t bytes = ::read(STDIN_FILENO, &byte, 1);
    return bytes > 0 ? 1 : bytes == 0 || errno == EIO ? 0 : -1;
  }

  int next_key(EditLine* editor, wchar_t& key) {
    std::mbstate_t state{};
    for (int length = 0; length < 8; ++length) {
      char byte = 0;
      const int got = next_byte(editor, byte);
      if (got <= 0) return got;
      const std::size_t used = std::mbrtowc(&key, &byte, 1, &state);
      if (used == static_cast<std::size_t>(-2)) continue;
      if (used == static_cast<std::size_t>(-1)) key = 0xfffd;
      if (used == 0) key = 0;
      return 1;
    }
    return -1;
  }

  void load_history() {
    struct stat about {};
    if (file_.empty() || stat(file_.c_str(), &about) != 0 || !S_ISREG(about.st_mode) || about.st_size > largest_history) return;
    HistEvent event;
    history(history_, &event, H_LOAD, file_.c_str());
  }

  /// A conversation must not fail because of its history: write errors are ignored.
  void save_history() {
    if (file_.empty()) return;
    skipstone::platform::create_folder_of(file_);
    std::string temporary = file_ + ".XXXXXX";
    const int descriptor = mkostemp(temporary.data(), O_CLOEXEC);  // mode 0600
    if (descriptor < 0) return;
    std::FILE* const file = fdopen(descriptor, "w");
    HistEvent event;
    const bool written = file != nullptr && history(history_, &event, H_SAVE_FP, file) >= 0;
    const bool closed = file != nullptr ? std::fclose(file) == 0 : ::close(descriptor) == 0;
    if (!written || !closed || std::rename(temporary.c_str(), file_.c_str()) != 0) ::unlink(temporary.c_str());
  }

  std::string file_, prompt_;
  bool was_empty_ = false;
  History* history_ = nullptr;
  EditLine* editor_ = nullptr;
};

}  // namespace

std::unique_ptr<LineInput> open_line_editor(const std::string& history_file) {
  const char* const term = std::getenv("TERM");
  if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1 || term == nullptr || std::strcmp(term, "dumb") == 0) return nullptr;
  return std::make_unique<LineEditor>(history_file);
}

}  // namespace cli::chat
