/* recognise.llhttp.h: whole heads, and where they end, which it tells if it is paused there. */
static int on_message_complete(llhttp_t *parser) {
    (void)parser;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_headers_complete = on_headers_complete,
    .on_message_complete = on_message_complete,
};
