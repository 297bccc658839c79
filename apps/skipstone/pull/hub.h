// A hub of models: which files a repository has, and their bytes. The routes are those of https://huggingface.co/docs/hub/api.
#pragma once

#include <string>
#include <vector>

#include "pull/http_client.h"
#include "pull/hub_cache.h"
#include "pull/model_name.h"

namespace cli::pull {

/// A repository as it is now.
struct Listing {
  std::string commit;
  std::vector<RemoteFile> files;  ///< checksums and sizes where the list has them
  std::string no_answer;          ///< why the hub could not be asked, for callers that can do without it; "": it has answered
};

/// How often a request is made of a hub that is overloaded.
inline constexpr int usual_tries = 4;

class Hub {
 public:
  /// `address`: "" for the usual one. The token is $HF_TOKEN, for whichever hub that is. Throws like HttpClient.
  explicit Hub(std::string address);

  const std::string& address() const { return address_; }

  /// Throws Failure where the hub has no such model, or does not show it with this token.
  Listing list(const ModelName& model, int tries);

  /// Fills in what the list did not have. Throws Failure where no answer comes, and for a file whose checksum is not known.
  void complete(const ModelName& model, const std::string& commit, RemoteFile& file);

  /// The file's bytes from `from` on.
  Response get(const ModelName& model, const std::string& commit, const RemoteFile& file, std::uint64_t from, const TakeBody& take);

  /// Throws Failure with what an answer other than 2xx says about the model.
  [[noreturn]] void refuse(const ModelName& model, const Response& response) const;

 private:
  std::string url_of(const ModelName& model, const std::string& commit, const RemoteFile& file) const;
  Response ask(const Request& request, const TakeBody& take, int tries);
  /// Why an answer is none; "" where it is one.
  std::string no_answer(const Response& response) const;

  std::string address_;
  bool has_token_;
  HttpClient client_;
};

/// Waits `seconds`, ended by Ctrl-C with a Failure.
void wait_seconds(double seconds);

}  // namespace cli::pull
