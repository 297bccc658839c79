/* A program as one was written against the headers of 0.1, where default parameters came back by value. It checks that the library writes
 * no byte beyond the structs that these headers know, and prints what it generates: the program's own model file, first argument. */
#include <skipstone/skipstone.h>
#include <stdio.h>
#include <string.h>

/* A struct between bytes that nobody may write. */
#define GUARDED(type)                 \
  struct {                            \
    unsigned char before[64];         \
    type value;                       \
    unsigned char behind[256];        \
  }

static int damaged = 0;

static void check_guard(const unsigned char* bytes, size_t count, const char* name) {
  size_t i;
  for (i = 0; i < count; ++i) {
    if (bytes[i] == 0xA5) continue;
    printf("the library wrote beyond %s\n", name);
    damaged = 1;
    return;
  }
}

#define DEFAULTS(variable, call)                                              \
  memset(&variable, 0xA5, sizeof(variable));                                  \
  variable.value = call();                                                    \
  check_guard(variable.before, sizeof(variable.before), #call);               \
  check_guard(variable.behind, sizeof(variable.behind), #call)

static int print_chunk(const skipstone_chunk* chunk, void* user_data) {
  (void)user_data;
  fwrite(chunk->text, 1, chunk->bytes, stdout);
  return 0;
}

static int fail(const char* what) {
  printf("%s: %s\n", what, skipstone_last_error());
  return 1;
}

int main(int count, char** arguments) {
  GUARDED(skipstone_engine_params) engine_params;
  GUARDED(skipstone_session_params) session_params;
  GUARDED(skipstone_inspect_params) inspect_params;
  GUARDED(skipstone_doctor_params) doctor_params;
  GUARDED(skipstone_stats) stats;
  GUARDED(skipstone_engine_info) info;
  skipstone_drafter_info drafter;
  skipstone_engine* engine = NULL;
  skipstone_session* session = NULL;
  skipstone_token tokens[64];
  size_t token_count = 0;
  uint64_t drafted = 0, accepted = 0;
  const char* prompt = "def f(";
  char* report = NULL;

  DEFAULTS(engine_params, skipstone_engine_default_params);
  DEFAULTS(session_params, skipstone_session_default_params);
  DEFAULTS(inspect_params, skipstone_inspect_default_params);
  DEFAULTS(doctor_params, skipstone_doctor_default_params);
  if (count < 2) return 2;
  if (skipstone_get_drafter(0, &drafter) != SKIPSTONE_OK || strlen(drafter.name) == 0) return fail("drafters");
  inspect_params.value.model_path = arguments[1];
  if (skipstone_inspect(&inspect_params.value, &report) != SKIPSTONE_OK) return fail("inspect");
  skipstone_string_free(report);

  engine_params.value.model_path = arguments[1];
  engine_params.value.context = 128;
  if (skipstone_engine_load(&engine_params.value, &engine) != SKIPSTONE_OK) return fail("load");
  memset(&info, 0xA5, sizeof(info));
  info.value.struct_size = sizeof(info.value);
  if (skipstone_engine_get_info(engine, &info.value) != SKIPSTONE_OK || info.value.layers != 20) return fail("info");
  check_guard(info.behind, sizeof(info.behind), "skipstone_engine_get_info");
  session_params.value.draft = "suffix";
  session_params.value.seed = 7;
  session_params.value.temperature = 0.5f;
  if (skipstone_session_create(engine, &session_params.value, &session) != SKIPSTONE_OK) return fail("session");
  if (skipstone_tokenize(engine, prompt, strlen(prompt), 1, 0, tokens, 64, &token_count) != SKIPSTONE_OK) return fail("tokenize");
  printf("text: ");
  if (skipstone_session_generate(session, tokens, token_count, 24, print_chunk, NULL) != SKIPSTONE_OK) return fail("generate");
  memset(&stats, 0xA5, sizeof(stats));
  stats.value.struct_size = sizeof(stats.value);
  if (skipstone_session_get_stats(session, &stats.value) != SKIPSTONE_OK) return fail("statistics");
  check_guard(stats.behind, sizeof(stats.behind), "skipstone_session_get_stats");
  if (stats.value.generated_tokens != 24) return fail("tokens counted");
  if (stats.value.draft_positions > 0 && skipstone_session_draft_position(session, 0, &drafted, &accepted) != SKIPSTONE_OK) return fail("positions");
  if (strcmp(skipstone_session_drafter(session), "suffix") != 0) return fail("drafter");
  skipstone_session_free(session);
  skipstone_engine_free(engine);
  printf("\n%s\n", damaged ? "damaged" : "intact");
  return damaged;
}
