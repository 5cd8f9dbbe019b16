/* The global names of cc-chain, with a prefix: in a server that has its filters inside, other files
 * may use the same names for something else. */
#ifndef CC_NAMES_H
#define CC_NAMES_H

#define chain_died ccc__chain_died
#define chain_gone ccc__chain_gone
#define chain_kill ccc__chain_kill
#define chain_leave ccc__chain_leave
#define chain_start ccc__chain_start
#define chain_tick ccc__chain_tick
#define current ccc__current
#define drain ccc__drain
#define drain_time ccc__drain_time
#define follow ccc__follow
#define keep ccc__keep
#define keep_read ccc__keep_read
#define keep_split ccc__keep_split
#define keep_write ccc__keep_write
#define listeners ccc__listeners
#define now_ms ccc__now_ms
#define peek ccc__peek
#define plan_free ccc__plan_free
#define plan_new ccc__plan_new
#define plan_read ccc__plan_read
#define program_check ccc__program_check
#define program_path ccc__program_path
#define program_run ccc__program_run
#define reload ccc__reload
#define restarts ccc__restarts
#define returns ccc__returns
#define say ccc__say
#define serve_request ccc__serve_request
#define server_start ccc__server_start
#define show_began ccc__show_began
#define show_metrics ccc__show_metrics
#define show_table ccc__show_table
#define shown ccc__shown
#define stage_again ccc__stage_again
#define stage_start ccc__stage_start
#define state_ask ccc__state_ask
#define state_close ccc__state_close
#define state_events ccc__state_events
#define state_open ccc__state_open
#define state_polls ccc__state_polls
#define usage ccc__usage
#define usage_has_value ccc__usage_has_value
#define usage_of ccc__usage_of
#define usage_unknown ccc__usage_unknown

#endif
