// The model itself drafts, with only the start and the end of its KV cache: the cost of attention no longer grows with the text.
// Sun et al., "TriForce", COLM 2024 (arXiv 2404.11912); Chen et al., "MagicDec", 2024 (arXiv 2408.11049); which positions: Xiao et al.,
// "Efficient Streaming Language Models with Attention Sinks", ICLR 2024 (arXiv 2309.17453).
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/number.h"
#include "base/status.h"
#include "speculation/drafters/drafters.h"
#include "speculation/options.h"

namespace skipstone::speculation {
namespace {

struct WindowParams {
  exec::KeyWindow window{4, 252};
  std::uint32_t max_drafts = 12;
  StopParams stop;
};

constexpr std::uint32_t most_keys = 1u << 20;  // the largest context

class Window final : public SourceDrafter {
 public:
  explicit Window(const WindowParams& params)
      : SourceDrafter(params.max_drafts, params.stop, std::make_shared<WindowPass>(params.window)), window_(params.window) {}

  std::string name() const override { return "window"; }
  DrafterTraits traits() const override { return {.known_costs = false}; }

  Proposal propose(std::span<const Token> history) override {
    // A draft that attends to everything would cost as much as it saves.
    if (history.size() <= window_.sink + window_.recent) return NoDrafts{};
    return SourceDrafter::propose(history);
  }

 private:
  exec::KeyWindow window_;
};

/// "SINK,RECENT".
exec::KeyWindow parse_window(const std::string& text) {
  const std::size_t comma = std::min(text.find(','), text.size());
  const auto sink = parse_number<std::uint32_t>(std::string_view(text).substr(0, comma));
  const auto recent = parse_number<std::uint32_t>(std::string_view(text).substr(std::min(comma + 1, text.size())));
  if (!sink || !recent || *sink > most_keys || *recent < 1 || *recent > most_keys) {
    fail(
        Code::invalid_argument,
        "drafter window: '{}' is no window; write window:SINK,RECENT with 0 to {} first positions of the text and 1 to {} last ones, as in "
        "window:4,252",
        text, most_keys, most_keys);
  }
  return {*sink, *recent};
}

}  // namespace

std::unique_ptr<Drafter> make_window(Options& options) {
  WindowParams params;
  if (const std::string given = options.value("SINK,RECENT"); !given.empty()) params.window = parse_window(given);
  params.max_drafts = options.whole("k", params.max_drafts, 1, 256);
  read_stop_options(options, params.stop);
  return std::make_unique<Window>(params);
}

}  // namespace skipstone::speculation
