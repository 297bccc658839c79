#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/env.h"
#include "base/escape.h"
#include "base/platform/files.h"
#include "pull/checksum.h"
#include "pull/hub.h"
#include "pull/hub_cache.h"
#include "pull/progress_bar.h"
#include "pull/pull.h"
#include "terminal/exit_code.h"
#include "terminal/interrupt.h"
#include "terminal/output.h"

namespace cli::pull {
namespace {

namespace fs = std::filesystem;
namespace platform = skipstone::platform;

std::string shown(const RemoteFile& file) { return skipstone::shortened(file.path, 200); }

/// A file that is held, for which another holder is waited.
platform::OpenFile wait_for(const std::string& path, const RemoteFile& file) {
  platform::create_folder_of(path);
  bool told = false;
  while (true) {
    std::error_code error;
    platform::OpenFile held = platform::open_held(path, error);
    if (!error) return held;
    if (error != std::errc::resource_unavailable_try_again) fail(ExitCode::failure, "{}: cannot be opened: {}", path, error.message());
    if (!std::exchange(told, true)) note("Another program is fetching {}; waiting for it ...", shown(file));
    wait_seconds(0.2);
  }
}

/// The bytes that have come so far, in a file of their own, and their checksum.
class Partial {
 public:
  Partial(std::string path, const RemoteFile& file)
      : path_(std::move(path)), wanted_(file), file_(wait_for(path_, file)), checksum_(file.checksum, file.bytes) {
    read_what_is_there();
  }

  std::uint64_t bytes() const { return bytes_; }

  void write(std::span<const std::byte> bytes) {
    if (bytes.size() > wanted_.bytes - bytes_) fail(ExitCode::failure, "the hub sends more of {} than it has", shown(wanted_));
    std::error_code error;
    platform::write_all(file_.handle(), bytes, error);
    if (error) {
      std::error_code ignored;
      platform::set_size(file_.handle(), bytes_, ignored);  // a part of them may have been written
      failed(error);
    }
    checksum_.add(bytes);
    bytes_ += bytes.size();
  }

  void restart() {
    set_size(0);
    checksum_ = Checksum(wanted_.checksum, wanted_.bytes);
  }

  bool is_right() { return checksum_.matches(); }

  void keep_as(const std::string& path) {
    std::error_code error;
    platform::flush(file_.handle(), error);  // some file systems report a full disk only here
    if (!error) platform::rename_held(file_, path_, path, error);
    if (error) failed(error);
  }

  void remove() { platform::discard_held(file_, path_); }

 private:
  void set_size(std::uint64_t bytes) {
    std::error_code error;
    platform::set_size(file_.handle(), bytes, error);
    if (error) failed(error);
    bytes_ = bytes;
  }

  void read_what_is_there() {
    std::error_code error;
    const std::uint64_t there = platform::facts_of(file_.handle(), error).bytes;
    if (error) failed(error);
    if (there > wanted_.bytes) return restart();
    std::vector<std::byte> buffer(std::size_t{1} << 20);
    while (bytes_ < there) {
      if (interrupt::requested()) fail(ExitCode::interrupted, "interrupted");
      const std::size_t count = platform::read_at(file_.handle(), bytes_, buffer, error);
      if (error) failed(error);
      if (count == 0) break;
      checksum_.add(std::span(buffer).first(count));
      bytes_ += count;
    }
    set_size(bytes_);
  }

  [[noreturn]] void failed(const std::error_code& error) const {
    fail(ExitCode::failure, "{}: cannot be written: {}; {} of {} are there, and the next start continues", path_, error.message(),
         bytes_text(static_cast<double>(bytes_)), bytes_text(static_cast<double>(wanted_.bytes)));
  }

  std::string path_;
  const RemoteFile& wanted_;
  platform::OpenFile file_;
  Checksum checksum_;
  std::uint64_t bytes_ = 0;
};

void check_space(const std::string& path, std::uint64_t bytes) {
  std::error_code error;
  const fs::space_info space = fs::space(platform::path_of(path).parent_path(), error);
  if (error || space.available >= bytes) return;
  fail(ExitCode::failure, "{}: {} are free there, and {} are needed", platform::text_of(platform::path_of(path).parent_path()),
       bytes_text(static_cast<double>(space.available)), bytes_text(static_cast<double>(bytes)));
}

/// The first byte of an answer with a part of a file.
std::optional<std::uint64_t> first_of(const Response& response) {
  const std::string range = response.header("content-range");  // "bytes 100-199/200"
  std::uint64_t first = 0;
  if (!range.starts_with("bytes ")) return std::nullopt;
  const char* const begin = range.data() + std::string_view("bytes ").size();
  const auto [stop, error] = std::from_chars(begin, range.data() + range.size(), first);
  return error == std::errc() && stop != begin && *stop == '-' ? std::optional(first) : std::nullopt;
}

/// Fetches until all bytes are there. A connection that ends early is continued; where several in a row bring next to nothing, it is given
/// up.
class Transfer {
 public:
  Transfer(Hub& hub, const ModelName& model, const std::string& commit, const RemoteFile& file)
      : hub_(hub), model_(model), commit_(commit), file_(file) {}

  void run(Partial& partial) {
    constexpr int tries = 4;
    const std::uint64_t progress = std::min<std::uint64_t>(std::uint64_t{64} << 10, file_.bytes / 20);
    std::uint64_t furthest = partial.bytes();
    ProgressBar bar(shown(file_), file_.bytes, partial.bytes());
    for (int without_progress = 0; partial.bytes() < file_.bytes;) {
      const Response response = once(partial, bar);
      if (partial.bytes() == file_.bytes) return;
      ++without_progress;
      if (partial.bytes() > furthest && partial.bytes() - furthest > progress) {
        without_progress = 0;
        furthest = partial.bytes();
      }
      check(response, without_progress == tries);
      const int doubled = without_progress == 0 ? 0 : 1 << (without_progress - 1);
      wait_seconds(response.retry_after > 0 ? response.retry_after : doubled);
    }
  }

 private:
  Response once(Partial& partial, ProgressBar& bar) {
    const std::uint64_t from = partial.bytes();
    bool begun = false;
    Response response = hub_.get(model_, commit_, file_, from, [&](const Response& answer, std::span<const std::byte> bytes) {
      constexpr long partial_content = 206;
      if (!std::exchange(begun, true) && from > 0) {
        const bool continues = answer.status == partial_content && first_of(answer) == from;
        if (answer.status == partial_content && !continues)
          fail(ExitCode::failure, "the hub sends another part of {} than was asked for", shown(file_));
        if (!continues) partial.restart();
      }
      partial.write(bytes);
      bar.update(partial.bytes());
    });
    constexpr long out_of_range = 416;
    if (response.status == out_of_range && from > 0) partial.restart();
    return response;
  }

  /// Throws where another try would not help, or there have been enough.
  void check(const Response& response, bool last) const {
    constexpr std::uint32_t most_patience = 300;
    const long status = response.status;
    const bool expired = status == 403 && !response.of_hub;  // the address that the hub redirected to is valid for some time alone
    const bool passes = status == 0 || response.is_good() || status == 408 || status == 416 || status == 429 || status >= 500 || expired;
    if (passes && !last && response.retry_after <= most_patience) return;
    if (!response.is_good() && status != 0) hub_.refuse(model_, response);
    fail(ExitCode::failure, "{}: the connection to {} breaks off again and again{}; the next start continues", shown(file_), hub_.address(),
         response.problem.empty() ? "" : " (" + response.problem + ')');
  }

  Hub& hub_;
  const ModelName& model_;
  const std::string& commit_;
  const RemoteFile& file_;
};

/// One file into the cache, under its final name only when its checksum is right. Returns when the cache has the bytes of `file`, which the
/// hub's list or Hub::complete() has filled in. Another program that downloads it is waited for. Throws Failure; what has come so far stays
/// for the next start.
void download(Hub& hub, const ModelName& model, const std::string& commit, const RemoteFile& file, const HubCache& cache) {
  if (cache.has(file)) return;
  platform::create_folder_of(cache.blob(file));
  const platform::OpenFile lock = wait_for(cache.lock(file), file);
  if (cache.has(file)) return;  // the other program was done
  Partial partial(cache.incomplete(file), file);
  check_space(cache.blob(file), file.bytes - partial.bytes());
  for (const bool last : {false, true}) {
    const bool continued = partial.bytes() > 0;
    Transfer(hub, model, commit, file).run(partial);
    if (partial.is_right()) return partial.keep_as(cache.blob(file));
    if (last || !continued) break;
    note("{} is damaged; fetching it anew.", shown(file));
    partial.restart();
  }
  partial.remove();
  fail(ExitCode::failure, "{}: what {} sends has another checksum than it names ({}); nothing of it is kept", shown(file), hub.address(),
       file.checksum);
}

}  // namespace

std::vector<std::string> fetch(const ModelName& model, const std::string& address, Version version) {
  const HubCache cache(model);
  if (skipstone::env::flag("HF_HUB_OFFLINE")) return cache.find_instead(model, "HF_HUB_OFFLINE is set");
  Hub hub(address);
  const bool waits = version == Version::newest || cache.find(model).empty();
  Listing listing = hub.list(model, waits ? usual_tries : 1);
  if (!listing.no_answer.empty()) return cache.find_instead(model, listing.no_answer);
  std::vector<std::string> names;
  for (const RemoteFile& file : listing.files) names.push_back(file.path);
  const std::vector<std::string> chosen = choose_files(names, model);
  std::vector<std::string> paths = version == Version::any ? cache.find(chosen) : std::vector<std::string>();
  if (!paths.empty()) return paths;
  for (const std::string& name : chosen) {
    RemoteFile& file = *std::ranges::find(listing.files, name, &RemoteFile::path);
    hub.complete(model, listing.commit, file);
    download(hub, model, listing.commit, file, cache);
    paths.push_back(cache.link(file, listing.commit));
  }
  cache.set_newest(listing.commit);
  return paths;
}

}  // namespace cli::pull
