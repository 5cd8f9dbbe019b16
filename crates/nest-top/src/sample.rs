//! For tests: the counts of a server, and of an accelerator, as they tell them.

pub(crate) const TEXT: &str = "# TYPE nest_server info\n\
    nest_server_info{name=\"web\",model=\"event\",version=\"nest 0.1.0\"} 1\n\
    nest_workers 2\nnest_clients_limit 1000\nnest_connections 3\n\
    nest_connections_opened_total 10\n\
    nest_connections_ended_total{reason=\"closed\"} 6\n\
    nest_connections_ended_total{reason=\"eof\"} 1\n\
    nest_received_bytes_total 600\nnest_replied_bytes_total 2000\n\
    nest_waits_total 4\nnest_waiting 1\n\
    nest_filter_accepted_total{address=\"*:80\",place=\"0\",filter=\"request\"} 14\n\
    nest_filter_accepted_total{address=\"*:80\",place=\"1\",filter=\"pass\"} 10\n\
    nest_filter_passed_total{address=\"*:80\",place=\"0\",filter=\"request\"} 10\n\
    nest_filter_passed_total{address=\"*:80\",place=\"1\",filter=\"pass\"} 10\n\
    nest_filter_deaths_total{address=\"*:80\",place=\"0\",filter=\"request\"} 1\n\
    nest_filter_held{address=\"*:80\",place=\"0\",filter=\"request\"} 2\n\
    nest_filter_oldest_seconds{address=\"*:80\",place=\"0\",filter=\"request\"} 1.25\n\
    nest_filter_refused_total{address=\"*:80\",place=\"0\",filter=\"request\",reason=\"malformed\"} 2\n\
    nest_rule_messages_total{rule=\"get\",at=\"a \\\"b\\\\.nest:4\"} 20\n\
    nest_rule_messages_total{rule=\"line 9\",at=\"web.nest:9\"} 0\n\
    nest_rule_bytes_total{rule=\"get\",at=\"a \\\"b\\\\.nest:4\"} 600\n\
    nest_rule_bytes_total{rule=\"line 9\",at=\"web.nest:9\"} 0\n\
    nest_rule_seconds_total{rule=\"get\",at=\"a \\\"b\\\\.nest:4\"} 0.00002\n\
    nest_rule_seconds_total{rule=\"line 9\",at=\"web.nest:9\"} 0\n\
    nest_message_seconds_bucket{le=\"0.000001\"} 15\n\
    nest_message_seconds_bucket{le=\"0.001\"} 20\n\
    nest_message_seconds_bucket{le=\"+Inf\"} 20\n\
    nest_message_seconds_sum 0.00002\nnest_message_seconds_count 20\n# EOF\n";

pub(crate) const KERNEL: &str = "# TYPE nest_kernel info\n\
    nest_kernel_info{port=\"8080\"} 1\n\
    nest_kernel_on 1\nnest_kernel_kept_answers 2\nnest_kernel_kept_bytes 2048\n\
    nest_kernel_limit_bytes 8388608\nnest_kernel_connections_total 4\n\
    nest_kernel_answers_total 100\nnest_kernel_answer_bytes_total 25000\n\
    nest_kernel_unchanged_total 5\nnest_kernel_passed_total 20\nnest_kernel_missed_total 12\n\
    nest_kernel_fields_total 6\nnest_kernel_renewed_total 2\nnest_kernel_full_total 0\n\
    nest_kernel_user_total 1\nnest_kernel_held_total 0\nnest_kernel_trimmed_total 0\n\
    nest_kernel_broken_total 0\nnest_kernel_unlogged_total 0\nnest_kernel_singles_total 0\n\
    nest_kernel_left_total{reason=\"its file is too large\"} 3\n# EOF\n";
